package datapath

import (
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
)

func explained(t *testing.T, x *Explanation) *Explained {
	t.Helper()
	select {
	case e := <-x.Next:
		return e
	case <-time.After(60 * time.Second):
		t.Fatal("nothing is explained")
		return nil
	}
}

// Each packet that is selected tells in which way it was decided about, and what became of it.
func TestExplain(t *testing.T) {
	known := eth(2, 1)
	for _, c := range []struct {
		name, flows string
		frames      [][]byte // the last two are explained
		ways        [2]Way
		effect      string
	}{
		{"words", "", [][]byte{eth(1, 2), known, known}, [2]Way{WayNormal, WayWords}, "p2 tx none"},
		{"fixed", "priority=1,in_port=1,actions=output:2", [][]byte{known, known}, [2]Way{WayFixed, WayFixed}, "p2 tx none"},
		{"megaflow", "priority=1,arp,actions=drop priority=1,dl_dst=02:00:00:00:00:02,actions=output:2", [][]byte{known, known}, [2]Way{WayTranslate, WaySubtable}, "p2 tx none"},
		{"drop", "priority=1,dl_dst=02:00:00:00:00:02,actions=drop", [][]byte{known, known}, [2]Way{WayTranslate, WaySubtable}, "p1 rx rule_drop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, b := newSwitch(t)
			_, a := plug(t, b, "p1", trunk)
			_, z := plug(t, b, "p2", trunk)
			if c.flows != "" {
				addFlows(t, b, strings.Fields(c.flows)...)
			}
			frames := c.frames
			if len(frames) == 3 {
				z.send(frames[0])
				settle(t, a, z)
				eventually(t, "learned", func() bool { return len(b.MACTable()) == 1 })
				frames = frames[1:]
			}
			m := &flow.Match{}
			if err := m.Parse("in_port=1,dl_dst=02:00:00:00:00:02", nil); err != nil {
				t.Fatal(err)
			}
			x, err := d.Explain(ExplainConfig{Bridge: b, Selector: m})
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			a.send(eth(3, 1)) // not selected
			for i, f := range frames {
				a.send(f)
				e := explained(t, x)
				way := c.ways[i]
				if e.Way != way && (way != WaySubtable || e.Way != WaySignature) {
					t.Errorf("packet %d: by %v, want %v", i, e.Way, way)
				}
				if (e.Flow == nil) != (way < WaySignature) || e.InPort.Name() != "p1" || e.Len != 60 || e.Key.InPort() != 1 || !strings.Contains(e.Trace.Steps(), " 0. ") {
					t.Errorf("packet %d: %+v\n%s", i, e, e.Trace.Steps())
				}
				if len(e.Effects) != 1 {
					t.Fatalf("packet %d: effects %v", i, e.Effects)
				}
				f := e.Effects[0]
				if got := f.Port.Name() + " " + f.Dir.String() + " " + f.Drop.String(); got != c.effect || f.Count != 1 {
					t.Errorf("packet %d: %s, %d times, want %s", i, got, f.Count, c.effect)
				}
			}
		})
	}
}

// What the device drops is explained, too, and so is each copy of a flood.
func TestExplainEffects(t *testing.T) {
	d, b := newSwitch(t)
	_, a := plug(t, b, "p1", trunk)
	plug(t, b, "p2", trunk)
	_, full := plug(t, b, "p3", trunk)
	full.mu.Lock()
	full.full = true
	full.mu.Unlock()
	x, err := d.Explain(ExplainConfig{Bridge: b})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	a.send(eth(-1, 1))
	e := explained(t, x)
	if len(e.Effects) != 2 || e.Effects[0].Port.Name() != "p2" || e.Effects[0].Drop != packet.DropNone ||
		e.Effects[1].Port.Name() != "p3" || e.Effects[1].Drop != packet.TxRingFull {
		t.Errorf("effects %+v", e.Effects)
	}
}

// A packet that is explained is forwarded as one that is not: in its order, and all are accounted for; a flood of them is not all
// explained.
func TestExplainForwardsAll(t *testing.T) {
	d, b := newSwitch(t)
	_, a := plug(t, b, "p1", trunk)
	_, z := plug(t, b, "p2", trunk)
	x, err := d.Explain(ExplainConfig{Bridge: b})
	if err != nil {
		t.Fatal(err)
	}
	const n = 3000
	for i := range n {
		a.send(eth(2, 1, 8, 0, byte(i>>8), byte(i)))
	}
	settle(t, a, z)
	eventually(t, "all sent", func() bool { return z.count() == n })
	for i, f := range z.sent() {
		if f[14] != byte(i>>8) || f[15] != byte(i) {
			t.Fatalf("frame %d is out of order", i)
		}
	}
	if x.Passed() == 0 {
		t.Error("all are explained")
	}
	x.Close()
	if _, err := d.Explain(ExplainConfig{}); err == nil {
		t.Error("a bridge is needed")
	}
}
