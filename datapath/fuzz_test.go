package datapath

import (
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/packet"
)

// Any frame of any length, with any offload state, at ports of any kind: it is
// forwarded or dropped under a name, and nothing faults.
func FuzzForward(f *testing.F) {
	for _, c := range vlanCases {
		f.Add(tagSpec(-1, 1, c.frame), c.in+"|"+c.out, uint8(0), uint16(0), uint16(0))
		f.Add(tagSpec(2, 1, c.frame)[:17], c.out+"|"+c.in, uint8(0), uint16(0), uint16(0))
	}
	f.Add(tcp4(-1, 1, 3000), "trunk|access 0", uint8(packet.GSOTCPv4<<4|1), uint16(100), uint16(34))
	f.Add(tcp4(-1, 1, 30), "access 9|trunk", uint8(packet.GSOUDPL4<<4|7), uint16(1), uint16(3))
	f.Add([]byte{}, "|", uint8(255), uint16(1), uint16(65535))
	d, br, th := bare(f)
	in, out := newFake(f, 1), newFake(f, 1)
	plugDev(f, br, "a", trunk, in)
	plugDev(f, br, "b", trunk, out)
	ports := br.Ports()
	f.Fuzz(func(t *testing.T, b []byte, specs string, flags uint8, size, start uint16) {
		if len(b) > packet.MaxFrame {
			return
		}
		specA, specB, _ := strings.Cut(specs, "|")
		if ports[0].Configure(portSpec(specA)) != nil || ports[1].Configure(portSpec(specB)) != nil {
			return
		}
		out.mu.Lock()
		out.caps.TSO4, out.caps.Csum = size&1 == 0, size&2 == 0
		out.mu.Unlock()
		d.Changed(out)
		for range 3 {
			in.queue(0).sendWith(b, func(p *packet.Packet) {
				p.Flags, p.GSOType, p.GSOSize = flags&7, packet.GSOType(flags>>4&7), size
				p.CsumStart, p.CsumOffset = start, 16
			})
			th.iterate()
		}
		out.sent()
		checkConservation(t, d)
		for _, p := range ports {
			if s := p.Stats(); s.RxDrops[packet.PortFault]+s.TxDrops[packet.PortFault] != 0 {
				t.Errorf("port %q: fault", p.Name())
			}
		}
	})
}
