package e2e

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gvswitch/gvswitch/test/guest"
)

// User Mode Linux cannot be told anything: it takes what the port offers, so the port is told.
var umlFactors = []factor{
	{"RING_PACKED", []string{"off", "on"}},
	{"MRG_RXBUF", []string{"off", "on"}},
	{"EVENT_IDX", []string{"off", "on"}},
	{"INDIRECT_DESC", []string{"off", "on"}},
}

// TestMatrixUML boots Linux under UML, two at a time, on ports that offer less than they could. It has one queue pair and is
// never the server of the socket: queues and server have no place here.
func TestMatrixUML(t *testing.T) {
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	ns := addNamespace(s, "ns", 250)
	var last atomic.Int32
	matrix(t, umlFactors, nil, func(t *testing.T, c combination) {
		t.Parallel()
		n := int(last.Add(1))
		s, port := s.during(t), fmt.Sprintf("vu%d", n)
		var without []string
		want := map[string]bool{"VERSION_1": true}
		for _, f := range umlFactors {
			want[f.name] = c.on(f.name)
			if !c.on(f.name) {
				without = append(without, "-"+f.name)
			}
		}
		var settings []string
		if len(without) > 0 {
			settings = []string{`options:virtio-features="` + strings.Join(without, ",") + `"`}
		}
		g := bootGuest(t, fmt.Sprintf("u%d", n), n, guest.Config{Kind: guest.UML, Socket: s.AddVhost(port, settings...)})
		checkAcked(t, s, port, want)
		talk(t, g, ns)
		noBadFrames(t, s)
		s.Ctl("del-port", port)
	})
}
