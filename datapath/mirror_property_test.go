package datapath

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/odp"
)

// For bridges with ports, customers' ports and mirrors of all kinds, whatever agrees with a packet in what was looked at gets
// the same actions; and no mirror's output gets a packet twice.
func TestMirrorMasksAreTrue(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	vids := []int{0, 5, 6, 7}
	pick := func() int { return vids[rng.IntN(len(vids))] }
	some := func() (l []int) {
		if rng.IntN(2) == 0 {
			return nil
		}
		return []int{pick(), pick()}
	}
	for round := range 80 {
		d, b := newSwitch(t)
		const ports = 6
		names := func() (l []string) {
			for i := range ports {
				if rng.IntN(3) == 0 {
					l = append(l, fmt.Sprint("p", i))
				}
			}
			return l
		}
		about := ""
		for i := range ports {
			c := PortConfig{
				AdminUp: true, VLANMode: VLANMode(rng.IntN(int(VLANDot1qTunnel) + 1)), Tag: pick(), Trunks: some(), CVLANs: some(),
				PriorityTags: PriorityTags(rng.IntN(3)), Protected: rng.IntN(5) == 0,
			}
			about += fmt.Sprintf("p%d %+v\n", i, c)
			p, err := b.AddPort(fmt.Sprint("p", i), c)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Attach(newFake(t, 1)); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Configure(BridgeConfig{FloodVLANs: some()}); err != nil {
			t.Fatal(err)
		}
		var mirrors []MirrorConfig
		outs := map[string]bool{}
		for i := range rng.IntN(4) {
			m := MirrorConfig{Name: fmt.Sprint("m", i), All: rng.IntN(3) == 0, SrcPorts: names(), DstPorts: names(), VLANs: some(), SnapLen: rng.IntN(2) * 64}
			if rng.IntN(3) == 0 {
				m.OutVLAN = 5 + rng.IntN(3)
			} else {
				m.OutPort = fmt.Sprint("p", rng.IntN(ports))
				outs[m.OutPort] = true
			}
			if rng.IntN(3) == 0 {
				if err := m.Filter.Parse([]string{"tcp", "dl_vlan=5", "dl_src=02:00:00:00:00:01", "ip,nw_dst=10.0.0.0/8"}[rng.IntN(4)], nil); err != nil {
					t.Fatal(err)
				}
			}
			mirrors = append(mirrors, m)
			about += fmt.Sprintf("%+v\n", m)
		}
		if err := b.SetMirrors(mirrors); err != nil {
			t.Fatal(err)
		}
		if rng.IntN(2) == 0 {
			delFlows(t, b, "")
			addFlows(t, b, []string{"actions=2,3", "actions=mod_vlan_vid:6,normal", "actions=strip_vlan,all", "in_port=1,actions=dec_ttl,in_port,4"}[rng.IntN(4)])
		}
		key := func() (k flow.Key) {
			f := [][]byte{udp(1+rng.IntN(2), 1+rng.IntN(2), 1, 2), tcp4(1, 2, 10), eth(-1, 1), append([]byte{1, 0x80, 0xc2, 0, 0, 0}, eth(1, 2)[6:]...)}[rng.IntN(4)]
			for range rng.IntN(3) {
				v := pick() | rng.IntN(2)<<13
				f = append(slices.Concat(f[:12], []byte{0x81, 0, byte(v >> 8), byte(v)}), f[12:]...)
			}
			var p packet.Packet
			p.SetBytes(f)
			flow.Extract(&p, &k)
			k.SetInPort(uint32(1 + rng.IntN(ports)))
			return k
		}
		var all []flow.Key
		for range 60 {
			all = append(all, key())
		}
		var seen []TraceResult
		for _, k := range all {
			r := b.Trace(k, 100, nil)
			sent := map[uint32]int{}
			for _, a := range r.Actions {
				if a.Op == odp.Output {
					sent[a.Port]++
				}
			}
			for name := range outs {
				p := d.portNamed(name)
				if n := sent[uint32(p.id)]; n > 1+flowOutputs(b, p) {
					t.Fatalf("round %d: %s got %d copies\n%s%v", round, name, n, about, r.Actions)
				}
			}
			for j, o := range seen {
				other := all[j]
				agree := other.InPort() == k.InPort()
				for w := range other {
					agree = agree && (other[w]^k[w])&o.Mask[w] == 0
				}
				if agree && !slices.Equal(o.Actions, r.Actions) {
					t.Fatalf("round %d: %s and\n%s agree, but %v\n%v\nmask vlan %x\n%s",
						round, flow.Format(&other), flow.Format(&k), o.Actions, r.Actions, o.Mask[flow.WordVLAN], about)
				}
			}
			if k2 := k; uint32(k[flow.WordVLAN]) != 0 { // another inner tag
				k2[flow.WordVLAN] = k[flow.WordVLAN]&^0xfff | uint64(pick())
				if (k2[flow.WordVLAN]^k[flow.WordVLAN])&r.Mask[flow.WordVLAN] == 0 && !slices.Equal(b.Trace(k2, 100, nil).Actions, r.Actions) {
					t.Fatalf("round %d: %s and\n%s agree, but not in %v\n%s", round, flow.Format(&k), flow.Format(&k2), r.Actions, about)
				}
			}
			seen = append(seen, r)
		}
		for _, p := range b.Ports() {
			p.Detach()
			p.Remove()
		}
		b.Remove()
	}
}

// flowOutputs is how often the bridge's rule sends to a port by itself.
func flowOutputs(b *Bridge, p *Port) int {
	r := b.Tables().Flows(nil)[0].Flow()
	text := string(r.Append(nil, nil))
	if text == " priority=0 actions=NORMAL" || text == " actions=mod_vlan_vid:6,NORMAL" {
		return 0
	}
	return 1
}
