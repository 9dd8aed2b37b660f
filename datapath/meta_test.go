package datapath

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/pipeline/odp"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// setup is a way to run the same switch.
type setup struct {
	name    string
	flows   FlowConfig
	burst   int // frames that are sent at once
	threads int
}

var setups = []setup{
	{"as is", FlowConfig{}, 32, 1},
	{"bursts of one", FlowConfig{}, 1, 1},
	{"no signature cache", FlowConfig{NoCache: true}, 32, 1},
	{"no fixed lists", FlowConfig{NoFixed: true}, 32, 1},
	{"megaflows only", FlowConfig{NoFixed: true, NoWords: true}, 32, 1},
	{"few megaflows", FlowConfig{NoFixed: true, NoWords: true, Limit: 3}, 7, 1},
	{"two threads", FlowConfig{}, 32, 2},
	{"two threads, megaflows only", FlowConfig{NoFixed: true, NoWords: true, NoCache: true}, 5, 2},
}

const (
	metaPorts = 4 // of br0, and two of br1, which a patch joins
	metaHosts = 12
)

// metaRule is a random flow.
func metaRule(r *rand.Rand) string {
	pick := func(l ...string) string { return l[r.IntN(len(l))] }
	table := r.IntN(3)
	match := pick("", "", "ip,", "udp,", "arp,", fmt.Sprintf("in_port=%d,", 1+r.IntN(5)), fmt.Sprintf("in_port=%d,udp,", 1+r.IntN(5)), fmt.Sprintf("dl_dst=02:00:00:00:00:%02x,", r.IntN(metaHosts)), fmt.Sprintf("dl_vlan=%d,", r.IntN(3)), "vlan_tci=0/0x1fff,")
	switch {
	case strings.HasPrefix(match, "udp,") || strings.HasSuffix(match, "udp,"):
		match += pick("", fmt.Sprintf("tp_dst=%d,", 80+r.IntN(4)), fmt.Sprintf("tp_src=%d/0xfff8,", r.IntN(2)*8), fmt.Sprintf("nw_src=10.0.0.%d/30,", r.IntN(metaHosts)&^3))
	case match == "ip,":
		match += pick(fmt.Sprintf("nw_dst=10.0.0.%d/29,", r.IntN(metaHosts)&^7), fmt.Sprintf("nw_tos=%d,", r.IntN(2)*4))
	}
	var acts []string
	for range 1 + r.IntN(3) {
		a := pick(
			fmt.Sprint(1+r.IntN(5)), fmt.Sprint(1+r.IntN(5)), "NORMAL", "in_port", "flood",
			"mod_dl_src:a8:bb:cc:dd:ee:ff", fmt.Sprintf("mod_vlan_vid:%d", 1+r.IntN(3)), "strip_vlan", "push_vlan:0x8100",
			"load:0x5->NXM_NX_REG0[]", "move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[]",
		)
		if table < 2 {
			a = pick(a, a, fmt.Sprintf("resubmit(,%d)", table+1))
		}
		if strings.Contains(match, "udp") {
			a = pick(a, a, "mod_nw_src:1.2.3.4", "mod_tp_dst:5353", "dec_ttl")
		}
		acts = append(acts, a)
	}
	// Which of two rules with the same priority is found is nobody's business.
	return fmt.Sprintf("table=%d,priority=%d,%sactions=%s", table, 1+r.IntN(60000), match, strings.Join(acts, ","))
}

// metaFrame is a random frame of host h, with a number in it.
func metaFrame(r *rand.Rand, h, n int) []byte {
	f := udp(r.IntN(metaHosts), h, r.IntN(16), 80+r.IntN(4))
	switch r.IntN(6) {
	case 0:
		f = eth(r.IntN(metaHosts), h, 0x86, 0xdd, 0x60)
	case 1:
		copy(f, mac(-1))
	case 2:
		tci := uint16(r.IntN(3))
		f = append(f[:12:12], append([]byte{0x81, 0, byte(tci >> 8), byte(tci)}, f[12:]...)...)
	}
	f = append(f, make([]byte, 8)...)
	binary.BigEndian.PutUint32(f[len(f)-4:], uint32(n))
	f[len(f)-5] = byte(h)
	return f
}

// round is what happens between two looks at the outputs.
type round struct {
	del    string // flows to delete
	add    []string
	frames [metaPorts + 2][][]byte // by port
}

func metaRounds(r *rand.Rand) []round {
	var l []round
	for i := range 6 {
		x := round{}
		if i > 0 {
			x.del = []string{"table=1", "table=0,udp", "table=2", "in_port=1"}[r.IntN(4)]
		}
		for range 1 + r.IntN(12) {
			x.add = append(x.add, metaRule(r))
		}
		if i == 0 || r.IntN(3) == 0 {
			x.add = append(x.add, "priority=0,actions=NORMAL")
		}
		for p := range x.frames {
			for n := range 40 {
				h := p + len(x.frames)*r.IntN(metaHosts/len(x.frames))
				x.frames[p] = append(x.frames[p], metaFrame(r, h, n))
			}
			// The same flows again and again: that is what caches are for.
			for range 40 {
				f := slices.Clone(x.frames[p][r.IntN(40)])
				binary.BigEndian.PutUint32(f[len(f)-4:], uint32(len(x.frames[p])))
				x.frames[p] = append(x.frames[p], f)
			}
		}
		l = append(l, x)
	}
	return l
}

// play runs the rounds and gives, for each, what every port sent, sorted, and what the flows of br0 counted.
func play(t *testing.T, s setup, rounds []round) [][]string {
	d, b := newSwitch(t)
	s.flows.complete()
	if err := d.SetFlowConfig(s.flows); err != nil {
		t.Fatal(err)
	}
	if s.threads == 2 {
		if err := d.SetThreads(ThreadConfig{CPUs: []int{0, 1}, Assign: RoundRobin}); err != nil {
			t.Fatal(err)
		}
	}
	b1, err := d.AddBridge("br1", BridgeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	var devs []*fake
	for i := range metaPorts {
		_, x := plug(t, b, fmt.Sprint("p", i+1), trunk)
		devs = append(devs, x)
	}
	patch := trunk
	patch.Peer = "to0"
	if _, err := b.AddPort("to1", patch); err != nil { // number 5
		t.Fatal(err)
	}
	for i := range 2 {
		_, x := plug(t, b1, fmt.Sprint("q", i+1), trunk)
		devs = append(devs, x)
	}
	patch.Peer = "to1"
	if _, err := b1.AddPort("to0", patch); err != nil {
		t.Fatal(err)
	}
	// Every host is known from the start, in every VLAN that may be: learning depends on the order.
	at := map[int]*Port{}
	for i, p := range append(b.Ports()[:metaPorts:metaPorts], b1.Ports()[:2]...) {
		at[i] = p
	}
	for h := range metaHosts {
		for _, vlan := range []int{0, 1, 2, 3} {
			p := at[h%(metaPorts+2)]
			for _, br := range []*Bridge{b, b1} {
				q := p
				if p.br != br {
					q = br.Ports()[len(br.Ports())-1]
				}
				if err := br.AddStaticMAC(q, vlan, mac(h)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for vlan := range 4 {
		for i, br := range []*Bridge{b, b1} {
			if err := br.AddStaticMAC(br.Ports()[1+i], vlan, net.HardwareAddr{0xa8, 0xbb, 0xcc, 0xdd, 0xee, 0xff}); err != nil {
				t.Fatal(err)
			}
		}
	}
	delFlows(t, b, "")
	var all [][]string
	for _, x := range rounds {
		if x.del != "" {
			delFlows(t, b, x.del)
		}
		for _, f := range x.add {
			m, err := ofp.ParseFlow(f, nil, ofp.Add)
			if err != nil {
				continue // two tags are all that there may be
			}
			if _, err := b.Tables().Apply([]ofp.FlowMod{m}, rules.Options{Now: d.Now()}); err != nil {
				t.Fatal(err)
			}
		}
		d.SyncFlowStats()
		checkMegaflows(t, d, s.name+", after the change")
		for at := 0; at < len(x.frames[0]); at += s.burst {
			for p, dev := range devs {
				dev.send(x.frames[p][at:min(at+s.burst, len(x.frames[p]))]...)
			}
		}
		settle(t, devs...)
		d.Synchronize()
		var out []string
		for p, dev := range devs {
			var l []string
			last := map[byte]uint32{}
			for _, f := range dev.sent() {
				// In the order in which they came from each port, for all that is alike.
				h, n := f[len(f)-5], binary.BigEndian.Uint32(f[len(f)-4:])
				if n < last[h] {
					t.Errorf("%s: port %d: frame %d of host %d after %d", s.name, p, n, h, last[h])
				}
				last[h] = n
				l = append(l, fmt.Sprintf("port %d: %x", p+1, f))
			}
			slices.Sort(l)
			out = append(out, l...)
		}
		d.SyncFlowStats()
		checkMegaflows(t, d, s.name)
		for _, r := range b.Tables().Flows(nil) {
			out = append(out, fmt.Sprintf("table %d priority %d: %d packets", r.Table, r.Priority, r.Packets()))
		}
		all = append(all, out)
	}
	return all
}

// checkMegaflows holds every megaflow against what the tables say.
func checkMegaflows(t *testing.T, d *Datapath, what string) {
	t.Helper()
	for _, m := range d.DumpMegaflows() {
		k := m.Match.Key
		k.SetInPort(uint32(m.InPort.OFPort()))
		r := m.InPort.Bridge().Trace(k, 60, nil)
		r.Mask[flow.WordPort] |= portBits
		if !slices.Equal(r.Actions, m.Actions) || !within(&r.Mask, &m.Match.Mask) {
			t.Errorf("%s: megaflow %s of %s does\n%s, the tables say\n%s\nmask %x\nwant %x", what, m.Match.String(), m.InPort.Name(), odp.AppendActions(nil, m.Actions, &k, nil), odp.AppendActions(nil, r.Actions, &k, nil), m.Match.Mask[:16], r.Mask[:16])
		}
	}
}

// Whatever is in front of the tables, and however packets come, the same comes out, and the
// same is counted.
func TestEveryWayIsTheSame(t *testing.T) {
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 11))
		rounds := metaRounds(r)
		want := play(t, setups[0], rounds)
		for _, s := range setups[1:] {
			got := play(t, s, rounds)
			for i := range want {
				if !slices.Equal(got[i], want[i]) {
					t.Errorf("seed %d, %s, round %d: flows deleted %q, added\n%s\n%s", seed, s.name, i, rounds[i].del, strings.Join(rounds[i].add, "\n"), diff(want[i], got[i]))
					break
				}
			}
		}
	}
}

// diff shows what is only in one.
func diff(a, b []string) string {
	s, n := "", 0
	count := map[string]int{}
	for _, x := range a {
		count[x]++
	}
	for _, x := range b {
		count[x]--
	}
	for _, x := range append(slices.Clone(a), b...) {
		if c := count[x]; c != 0 && n < 12 {
			s += fmt.Sprintf("%+d %s\n", -c, x)
			count[x] = 0
			n++
		}
	}
	return s
}
