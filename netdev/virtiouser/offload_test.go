package virtiouser

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/netdevtest"
	"github.com/gvswitch/gvswitch/packet"
)

// adjust gives both ports other options, and waits until they have negotiated anew over the same
// connections.
func (l *lab) adjust(t *testing.T, options map[string]string, mtu int) {
	t.Helper()
	for i, d := range l.ports {
		before, _ := d.Queues()
		o := with(options, "path", l.paths[i])
		if err := d.(netdev.Adjuster).Adjust(netdev.Options{Map: o, MTU: mtu}); err != nil {
			t.Fatal(err)
		}
		netdevtest.Eventually(t, 10*time.Second, "other queues", func() bool {
			now, _ := d.Queues()
			return len(now) > 0 && now[0] != before[0]
		})
	}
	l.up(t)
}

// status checks a value in the ports' status.
func (l *lab) status(t *testing.T, key, value string) {
	t.Helper()
	for _, d := range l.ports {
		if got := d.Info().Status[key]; got != value {
			t.Fatalf("%s is %q, want %q", key, got, value)
		}
	}
}

// cross sends one packet from port 0 and calls f with it as port 1 received it.
func (l *lab) cross(t *testing.T, frame []byte, o netdevtest.Offload, f func(*packet.Packet)) {
	t.Helper()
	l.front.mu.Lock()
	_, tx := l.ports[0].Queues()
	p := &l.front.burst.Pkts[0]
	p.SetBytes(frame)
	p.Flags, p.GSOType, p.GSOSize, p.CsumStart, p.CsumOffset, p.HdrLen = o.Flags, o.GSO, o.Size, o.Start, o.Off, o.Hdr
	l.front.burst.Start(1)
	tx[0].Send(&l.front.burst, []uint16{0}, &l.front.tx)
	if got := p.AppendTo(nil); !bytes.Equal(got, frame) {
		t.Fatalf("Send changed the frame: %.20x, was %.20x", got, frame)
	}
	l.front.mu.Unlock()
	netdevtest.Eventually(t, 5*time.Second, "the packet", func() bool {
		l.front.mu.Lock()
		defer l.front.mu.Unlock()
		rx, _ := l.ports[1].Queues()
		if rx[0].Recv(&l.front.burst, &l.front.rx) == 0 {
			return false
		}
		f(&l.front.burst.Pkts[0])
		rx[0].Release()
		return true
	})
}

var offloading = map[string]string{"vhost-offload": "true"}

// Offloads travel both ways once they are negotiated, which happens when the port asks for them,
// and the connection stays.
func TestOffloads(t *testing.T) {
	for name, o := range combinations() {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, o, offloading)
			if _, tx := l.ports[0].Queues(); tx[0].Caps() != (netdev.TxCaps{}) {
				t.Fatalf("caps %+v that nobody asked for", tx[0].Caps())
			}
			l.adjust(t, with(o, "csum", "true", "tso", "true", "lro", "true"), 0)
			l.status(t, "tx-offloads", "UDP_CKSUM TCP_CKSUM TCP_TSO MULTI_SEGS")
			if _, tx := l.ports[0].Queues(); !tx[0].Caps().Csum || !tx[0].Caps().TSO4 || !tx[0].Caps().TSO6 {
				t.Fatalf("caps %+v", tx[0].Caps())
			}
			l.pass(t, 0, 0, 300, 1514)
			for _, n := range []int{90, 1400, 9000, 40000, 65000} {
				frame := netdevtest.TCP4(n)
				csum := netdevtest.Offload{Flags: packet.CsumPartial, Start: 34, Off: 16}
				if n > 1514 {
					csum.GSO, csum.Size, csum.Hdr = packet.GSOTCPv4, 1448, 54
				}
				l.cross(t, frame, csum, func(p *packet.Packet) {
					if !bytes.Equal(p.AppendTo(nil), frame) {
						t.Errorf("%d bytes: another frame of %d", n, p.Len)
					}
					got := netdevtest.Offload{Flags: p.Flags, GSO: p.GSOType, Size: p.GSOSize, Start: p.CsumStart, Off: p.CsumOffset, Hdr: p.HdrLen}
					if got != csum {
						t.Errorf("%d bytes: %+v, want %+v", n, got, csum)
					}
				})
			}
			l.adjust(t, o, 0)
			l.status(t, "tx-offloads", "MULTI_SEGS")
			l.pass(t, 0, 0, 300, 1514)
			if i := l.backs[0].Info(); i.Fault != "" {
				t.Error(i.Fault)
			}
		})
	}
}

// A ring that is too small for the longest frames says so, and takes those that it says.
func TestSmallRing(t *testing.T) {
	for layout, most := range map[string]int{"any_layout=true": 32 * usualRoom, "any_layout=false": 31 * usualRoom, "indirect=true": 31 * usualRoom} {
		key, value, _ := strings.Cut(layout, "=")
		l := newLab(t, map[string]string{key: value, "queue_size": "32", "csum": "true", "tso": "true", "lro": "true"}, offloading)
		_, tx := l.ports[0].Queues()
		if n := tx[0].Caps().MaxLen; int(n) != most {
			t.Fatalf("%s: at most %d bytes, want %d", layout, n, most)
		}
		gso := netdevtest.Offload{Flags: packet.CsumPartial, Start: 34, Off: 16, GSO: packet.GSOTCPv4, Size: 1448, Hdr: 54}
		l.cross(t, netdevtest.TCP4(min(most, 65000)), gso, func(p *packet.Packet) {
			if want := min(most, 65000); int(p.Len) != want {
				t.Errorf("%s: %d bytes of %d", layout, p.Len, want)
			}
		})
	}
}

// What is known of a checksum is nothing that a driver may say.
func TestNoDataValid(t *testing.T) {
	l := newLab(t, map[string]string{"csum": "true"}, offloading)
	l.cross(t, netdevtest.Frame(100, 1), netdevtest.Offload{Flags: packet.CsumValid}, func(p *packet.Packet) {
		if p.Flags != 0 {
			t.Errorf("flags %#x", p.Flags)
		}
	})
}

// A tag is put on and taken off.
func TestVLAN(t *testing.T) {
	for _, more := range []string{"", "any_layout", "indirect", "csum"} {
		t.Run(more, func(t *testing.T) {
			o := map[string]string{"vlan-insert": "7"}
			if more != "" {
				o[more] = "true"
				if more == "any_layout" {
					o[more] = "false"
				}
			}
			l := newLab(t, o, offloading)
			flags := uint8(0)
			if more == "csum" {
				flags = packet.CsumPartial
			}
			for _, n := range []int{60, 130, 1400} {
				frame := netdevtest.TCP4(n)
				tagged := append(append(append([]byte(nil), frame[:12]...), 0x81, 0, 0, 7), frame[12:]...)
				l.cross(t, frame, netdevtest.Offload{Flags: flags, Start: 34, Off: 16}, func(p *packet.Packet) {
					if !bytes.Equal(p.AppendTo(nil), tagged) {
						t.Errorf("%d bytes: %x", n, p.AppendTo(nil)[:20])
					}
					if flags != 0 && p.CsumStart != 38 {
						t.Errorf("checksum from %d", p.CsumStart)
					}
				})
			}
			l.adjust(t, with(o, "vlan-strip", "true"), 0)
			l.status(t, "rx-path", "inorder mergeable buffer")
			for _, n := range []int{60, 1400} {
				frame := netdevtest.TCP4(n)
				l.cross(t, frame, netdevtest.Offload{Flags: flags, Start: 34, Off: 16}, func(p *packet.Packet) {
					if !bytes.Equal(p.AppendTo(nil), frame) {
						t.Errorf("%d bytes: %x", n, p.AppendTo(nil)[:20])
					}
				})
			}
		})
	}
}

// Frames longer than a buffer, in as many as it takes.
func TestJumbo(t *testing.T) {
	for name, o := range combinations() {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, o, nil)
			l.window = 40 // each takes up to five buffers
			l.adjust(t, o, 9000)
			l.pass(t, 0, 0, 400, 9014)
			l.pass(t, 1, 0, 400, 9014)
		})
	}
}
