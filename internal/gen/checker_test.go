package gen

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gvswitch/gvswitch/packet"
)

// tested is a stream's frames and a Checker that expects them.
type tested struct {
	*Checker
	all [][]byte
}

func newTested(t *testing.T, tr *Traffic, n int) *tested {
	t.Helper()
	s := newStream(tr, 0, 0, 1, testPattern)
	s.begin(1)
	c := newChecker(CheckFull, clockOf(1e9), testPattern, [maxPorts]*Traffic{tr}, [maxPorts]int{1})
	c.begin(1)
	all, _ := frames(s, n)
	return &tested{c, all}
}

// give has the checker look at frames, some at a time, each cut into head and tails at random.
func (c *tested) give(r *rand.Rand, list [][]byte) {
	b := new(packet.Burst)
	for len(list) > 0 {
		n := min(1+r.IntN(packet.MaxBurst), len(list))
		for i, f := range list[:n] {
			lend(&b.Pkts[i], f, r)
		}
		c.Look(b, n, 5000)
		list = list[n:]
	}
}

// lend makes p the frame f, as a queue does whose buffers are of any size.
func lend(p *packet.Packet, f []byte, r *rand.Rand) {
	p.SetBytes(f[:min(len(f), packet.HeadCopy)])
	for rest := f[min(len(f), packet.HeadCopy):]; len(rest) > 0; {
		n := len(rest)
		if p.NSegs < packet.MaxSegs-1 {
			n = min(n, 1+r.IntN(700))
		}
		var q packet.Packet
		q.SetBytes(append(make([]byte, packet.HeadCopy), rest[:n]...))
		p.AddSeg(q.Segs()[0].Addr, uint32(n))
		keep = append(keep, rest)
		rest = rest[n:]
	}
}

// keep keeps lent memory from the collector.
var keep [][]byte

// counts is a Tally in short.
type counts struct{ Unique, Duplicate, TooLate, Reordered, BadMark, BadData, BadSum, Foreign, Stray uint64 }

func (c *Checker) counts() counts {
	return counts{
		c.Unique.Load(), c.Duplicate.Load(), c.TooLate.Load(), c.Reordered.Load(), c.BadMark.Load(), c.BadData.Load(), c.BadSum.Load(), c.Foreign.Load(), c.Stray.Load(),
	}
}

// clean are kinds of traffic of which nothing is wrong.
func clean() map[string]*Traffic {
	kinds := map[string]*Traffic{}
	for _, v6 := range []bool{false, true} {
		for _, tcp := range []bool{false, true} {
			for _, tags := range [][]Tag{nil, {{TPID: 0x8100, VID: 1}}, {{TPID: 0x88a8, VID: 1}, {TPID: 0x8100, VID: 2}}} {
				for _, check := range []Checksum{ChecksumFull, ChecksumPartial, ChecksumNone} {
					tr := traffic(v6, tcp, tags...)
					tr.Sizes, tr.Flows, tr.Checksum = []int{tr.marked(), 128, 129, 131, 1518, 9000}, 17, check
					if tr.Validate(packet.MaxFrame) == nil {
						kinds[fmt.Sprint(tr.kind(), check)] = tr
					}
				}
			}
		}
	}
	return kinds
}

// Streams of all kinds that come as they were sent are found in order.
func TestCleanStreams(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for name, tr := range clean() {
		c := newTested(t, tr, 500)
		if tr.Checksum == ChecksumPartial { // the state travels beside the frame
			s := newStream(tr, 0, 0, 1, testPattern)
			s.begin(1)
			b := new(packet.Burst)
			s.Prepare(b)
			for range 20 {
				s.Fill(b, 25, 1000)
				c.Look(b, 25, 5000)
			}
		} else {
			c.give(r, c.all)
		}
		if got := c.counts(); got != (counts{Unique: 500}) {
			t.Errorf("%s: %+v", name, got)
		}
		if c.ages.N() != 500 || c.ages.Max() > 4000 {
			t.Errorf("%s: %d ages, at most %d", name, c.ages.N(), c.ages.Max())
		}
	}
}

// What is lost, comes twice or out of order is counted to the frame.
func TestInjectedFaults(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for round := range 30 {
		tr := traffic(false, round%2 == 1)
		tr.Sizes, tr.Flows = []int{64, 300}, 1+round*3
		c := newTested(t, tr, 3000)
		var want counts
		var list [][]byte
		var held [][]byte // to be sent later
		for i, f := range c.all {
			switch r.IntN(20) {
			case 0: // lost
			case 1:
				list, want.Duplicate = append(list, f, f), want.Duplicate+1
			case 2:
				held = append(held, f)
			default:
				list = append(list, f)
			}
			if len(held) > 0 && (r.IntN(10) == 0 || i == len(c.all)-1) {
				list = append(list, held[0])
				held = held[1:]
			}
		}
		list = append(list, held...)
		want.Unique, want.Reordered = oracle(list)
		c.give(r, list)
		if got := c.counts(); got != want {
			t.Errorf("round %d: %+v, want %+v", round, got, want)
		}
	}
}

// oracle counts frames that came first, and those of them behind a later one of their flow.
func oracle(list [][]byte) (unique, reordered uint64) {
	type place struct{ flow, seq uint32 }
	seen, last := map[place]bool{}, map[uint32]uint32{}
	for _, f := range list {
		var p packet.Packet
		p.SetBytes(f)
		var v view
		var m mark
		v.locate(&p)
		m.get(v.payload(&p), v.seq(&p))
		if seen[place{m.flow(), m.seq}] {
			continue
		}
		seen[place{m.flow(), m.seq}] = true
		unique++
		if m.seq < last[m.flow()] {
			reordered++
		}
		last[m.flow()] = max(last[m.flow()], m.seq)
	}
	return unique, reordered
}

// No byte of a frame behind its tags changes without being noticed, and what is changed is named. IPv6's class, flow label and hop limit are
// covered by nothing.
func TestCorruption(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		for _, tcp := range []bool{false, true} {
			tr := traffic(v6, tcp, Tag{TPID: 0x8100, VID: 7})
			tr.Sizes = []int{301}
			c := newTested(t, tr, 301)
			for at := tr.l3(); at < 301; at++ {
				if v6 && (at > tr.l3() && at < tr.l3()+4 || at == tr.l3()+7) {
					continue
				}
				c.begin(1)
				var p packet.Packet
				f := append([]byte(nil), c.all[at]...)
				f[at] ^= 0x10
				p.SetBytes(f)
				b := new(packet.Burst)
				b.Pkts[0] = p
				c.Look(b, 1, 5000)
				got := c.counts()
				wrong := got.BadMark + got.BadData + got.BadSum
				if got.Foreign == 1 && at < tr.payload() { // not known again
					continue
				}
				if wrong != 1 || c.Corrupt.Load() != 1 {
					t.Errorf("v6 %v, tcp %v, byte %d: %+v", v6, tcp, at, got)
				}
				if front := tr.payload() + markLen(tcp); at >= front && got.BadData != 1 {
					t.Errorf("byte %d of the contents: %+v", at, got)
				}
			}
		}
	}
}

// Every bit of a mark is checked.
func TestMarkBits(t *testing.T) {
	tr := traffic(false, false)
	c := newTested(t, tr, 1)
	for bit := range udpMark * 8 {
		c.begin(1)
		f := append([]byte(nil), c.all[0]...)
		f[tr.payload()+bit/8] ^= 1 << (bit % 8)
		b := new(packet.Burst)
		b.Pkts[0].SetBytes(f)
		c.Look(b, 1, 5000)
		if got := c.counts(); got != (counts{BadMark: 1}) {
			t.Errorf("bit %d: %+v", bit, got)
		}
	}
}

// One frame's contents behind another's headers are noticed, as is a frame that was cut; a switch's tags and padding are no fault.
func TestOtherChanges(t *testing.T) {
	tr := traffic(false, false)
	tr.Sizes = []int{600}
	for name, c := range map[string]struct {
		change func(a, b []byte) []byte
		want   counts
	}{
		"tail of another frame": {func(a, b []byte) []byte { return append(a[:128:128], b[128:]...) }, counts{Unique: 1, BadData: 1}},
		"cut":                   {func(a, _ []byte) []byte { return a[:599] }, counts{Unique: 1, BadData: 1}},
		"cut to its head":       {func(a, _ []byte) []byte { return a[:100] }, counts{Unique: 1, BadData: 1}},
		"padded":                {func(a, _ []byte) []byte { return append(a, 1, 2, 3) }, counts{Unique: 1}},
		"tagged":                {func(a, _ []byte) []byte { return append(append(a[:12:12], 0x81, 0, 0, 5), a[12:]...) }, counts{Unique: 1}},
		"tagged twice": {func(a, _ []byte) []byte {
			return append(append(a[:12:12], 0x88, 0xa8, 0, 5, 0x81, 0, 0, 6), a[12:]...)
		}, counts{Unique: 1}},
		"too short to be ours": {func(a, _ []byte) []byte { return a[:20] }, counts{Foreign: 1}},
		"ARP":                  {func(a, _ []byte) []byte { return append(append(a[:12:12], 8, 6), a[14:]...) }, counts{Foreign: 1}},
		"other ports": {func(a, _ []byte) []byte {
			a = append([]byte(nil), a...)
			a[36], a[50] = 1, a[50]+1
			return a
		}, counts{Foreign: 1}},
	} {
		x := newTested(t, tr, 2)
		x.give(rand.New(rand.NewPCG(5, 5)), [][]byte{c.change(x.all[0], x.all[1])})
		if got := x.counts(); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// Frames of the trial before are told apart.
func TestStray(t *testing.T) {
	c := newTested(t, traffic(false, false), 3)
	c.begin(2)
	c.give(rand.New(rand.NewPCG(5, 5)), c.all)
	if got := c.counts(); got != (counts{Stray: 3}) {
		t.Errorf("%+v", got)
	}
}

// The window finds first, second and late arrivals as a plain set does, wherever the numbers are.
func TestWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, start := range []uint32{1, 63, 64, 1 << 20, 1<<32 - 5000, 1<<31 - 100} {
		w := &window{top: start - 1}
		seen := map[uint32]bool{}
		top := start - 1
		for range 200_000 {
			seq := top + 1
			switch r.IntN(8) {
			case 0:
				seq += r.Uint32N(200)
			case 1:
				seq -= r.Uint32N(3000)
			case 2:
				if r.IntN(500) == 0 {
					seq += r.Uint32N(3 * windowBits)
				}
			case 3:
				if r.IntN(50) == 0 {
					seq -= r.Uint32N(2 * windowBits)
				}
			}
			if int32(seq-start) < 0 {
				continue
			}
			want := arrivedFirst
			if behind := int32(top - seq); behind >= windowBits-64 {
				want = arrivedTooLate
			} else if seen[seq] {
				want = arrivedAgain
			}
			if got := w.take(seq); got != want {
				t.Fatalf("from %d: number %d with top %d is %d, want %d", start, seq, top, got, want)
			}
			if want == arrivedFirst {
				seen[seq] = true
			}
			if int32(seq-top) > 0 {
				top = seq
			}
		}
	}
}

func BenchmarkLook(b *testing.B) {
	for _, check := range []Check{CheckFull, CheckSeq, CheckNone} {
		for _, size := range []int{64, 1518} {
			b.Run(fmt.Sprintf("%d,%d", check, size), func(b *testing.B) {
				tr := traffic(false, false)
				tr.Sizes, tr.Flows = []int{size}, 1024
				s, burst := newStream(tr, 0, 0, 1, testPattern), new(packet.Burst)
				s.begin(1)
				c := newChecker(check, clockOf(1e9), testPattern, [maxPorts]*Traffic{tr}, [maxPorts]int{1})
				c.begin(1)
				s.Prepare(burst)
				s.Fill(burst, 32, 0)
				for i := 0; i < b.N; i += 32 {
					c.Look(burst, 32, uint32(i))
				}
			})
		}
	}
}
