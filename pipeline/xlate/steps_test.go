package xlate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// TestSteps has rules that would keep a poll thread busy for minutes without one output: they must fail soon.
func TestSteps(t *testing.T) {
	many := strings.Repeat("set_field:1->reg0,", 10_000)
	for _, tt := range []struct {
		name  string
		flows []string
	}{
		{"groups of groups", []string{"actions=group:1"}},
		{"long lists, often", []string{"actions=" + strings.Repeat("resubmit(,1),", 1000), "table=1,actions=" + many}},
		{"normal, often", []string{"actions=" + strings.Repeat("resubmit(,1),", 1000), "table=1,actions=" + strings.Repeat("normal,", 1000)}},
		{"learning, often", []string{"actions=" + strings.Repeat("learn(table=2,reg0=1),", 10_000)}},
		{"links, often", []string{"actions=" + strings.Repeat("multipath(eth_src,0,hrw,65535,0,reg0[0..15]),", 10_000)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBridge("br0", 0, 2)
			for id := uint32(30); id > 0; id-- {
				def := ofp.GroupDef{ID: id}
				for n := range uint32(2) {
					k := ofp.Bucket{ID: n, WatchPort: ofp.PortNone, WatchGroup: ofp.GroupAny}
					if id < 30 {
						k.Actions = []ofp.Action{ofp.Group{ID: id + 1}}
					}
					def.Buckets = append(def.Buckets, k)
				}
				if _, err := b.Tables().ApplyGroup(rules.GroupAdd, &def, 0, 0); err != nil {
					t.Fatal(err)
				}
			}
			b.add(t, tt.flows...)
			start := time.Now()
			x := New()
			r := x.Run(&Input{Bridge: b, Key: key(t, tcpPacket), Effects: true})
			if took := time.Since(start); took > time.Second {
				t.Errorf("took %v", took)
			}
			if r.Why != packet.TooManyActions {
				t.Errorf("got %s", r.Why)
			}
		})
	}
	// What is large but can be served is.
	b := newBridge("br0", 0, 2)
	flows := []string{"actions=output:2," + strings.Repeat("resubmit(,1),", 1000)}
	for i := range 16 {
		flows = append(flows, fmt.Sprintf("table=1,priority=%d,reg0=%d,actions=load:%d->reg0[]", i, i, i+1))
	}
	b.add(t, flows...)
	if r := New().Run(&Input{Bridge: b, Key: key(t, tcpPacket)}); r.Why != packet.DropNone {
		t.Errorf("a thousand lookups: %s", r.Why)
	}
}
