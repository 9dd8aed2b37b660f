package lacp

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

func system(n byte) [6]byte { return [6]byte{2, 0, 0, 0, 0, n} }

// wire is two groups and the links between them.
type wire struct {
	now   int64
	g     [2]*Group
	ports [2][]*Port
	cut   []bool
	sent  int
}

// newWire joins two groups with as many links as asked for.
func newWire(links int, a, b Config) *wire {
	w := &wire{now: 5_000, cut: make([]bool, links)}
	for s, c := range []Config{a, b} {
		c.System, c.SystemPriority = system(byte(s+1)), 0xffff
		w.g[s] = New(c)
		for i := range links {
			w.ports[s] = append(w.ports[s], w.g[s].AddPort(PortConfig{ID: uint16(i + 1), Priority: 0xffff}))
		}
		for _, p := range w.ports[s] {
			p.SetCarrier(true, w.now)
		}
	}
	return w
}

// step lets ms pass, in which all that is due is done and delivered through the codec.
func (w *wire) step(t *testing.T, ms int64) {
	t.Helper()
	for end := w.now + ms; ; w.now += 50 {
		for s := range w.g {
			w.g[s].Run(w.now, func(p *Port, pdu *PDU) {
				w.sent++
				f := pdu.AppendFrame(nil, system(9))
				got, err := ParseFrame(f)
				if err != nil || got != *pdu || len(f) != FrameLen {
					t.Fatalf("%d bytes: %v: %+v, sent %+v", len(f), err, got, *pdu)
				}
				if i := int(p.cfg.ID) - 1; !w.cut[i] {
					w.ports[1-s][i].Receive(&got, w.now)
				}
			})
		}
		if w.now >= end {
			return
		}
	}
}

func (w *wire) enabled(s int) int {
	n := 0
	for _, p := range w.ports[s] {
		if p.MayEnable() {
			n++
		}
	}
	return n
}

func TestNegotiate(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b Config
		want int
	}{
		{"both active", Config{Active: true}, Config{Active: true}, 2},
		{"one active", Config{Active: true}, Config{}, 2},
		{"fast and slow", Config{Active: true, Fast: true}, Config{}, 2},
		{"nobody active", Config{}, Config{}, 0},
	} {
		w := newWire(2, c.a, c.b)
		w.step(t, 3000)
		if a, b := w.enabled(0), w.enabled(1); a != c.want || b != c.want || w.g[0].Negotiated() != (c.want > 0) {
			t.Errorf("%s: %d and %d links", c.name, a, b)
		}
		want := Sync | Collecting | Distributing
		for _, p := range w.ports[0] {
			if c.want > 0 && (p.Actor().State&want != want || p.Partner().State&want != want) {
				t.Errorf("%s: actor %v, partner %v", c.name, p.Actor().State, p.Partner().State)
			}
		}
		before := w.sent
		w.step(t, 60_000)
		if n := w.sent - before; c.want > 0 && n > 2*2*61 || c.want == 0 && w.sent != 0 {
			t.Errorf("%s: %d PDUs in a quiet minute", c.name, n)
		}
		if w.enabled(0) != c.want {
			t.Errorf("%s: did not last", c.name)
		}
	}
}

// A link whose partner falls silent, though it is up, leaves after three periods, and comes back.
func TestSilence(t *testing.T) {
	w := newWire(2, Config{Active: true, Fast: true}, Config{Active: true, Fast: true})
	w.step(t, 3000)
	w.cut[1] = true
	w.step(t, 2000)
	if w.enabled(0) != 2 {
		t.Error("given up within 2 s")
	}
	w.step(t, 1500)
	if w.enabled(0) != 1 || w.ports[0][1].Status() != StatusExpired || !w.ports[0][0].MayEnable() {
		t.Errorf("after 3.5 s: %d links, %v", w.enabled(0), w.ports[0][1].Status())
	}
	w.step(t, 4000)
	if s := w.ports[0][1].Status(); s != StatusDefaulted {
		t.Errorf("after 7.5 s: %v", s)
	}
	w.cut[1] = false
	w.step(t, 3000)
	if w.enabled(0) != 2 || w.enabled(1) != 2 {
		t.Error("did not come back")
	}
}

// Only links to one and the same system are one aggregate.
func TestTwoPartners(t *testing.T) {
	w := newWire(2, Config{Active: true, Fast: true}, Config{Active: true, Fast: true})
	other := New(Config{Active: true, Fast: true, System: system(7), SystemPriority: 1})
	q := other.AddPort(PortConfig{ID: 1, Priority: 1})
	w.step(t, 3000)
	w.cut[1] = true // the second link now ends at another system
	for range 100 {
		pdu := PDU{Actor: q.Actor(), Partner: w.ports[0][1].Actor()}
		pdu.Actor.State |= Sync
		w.ports[0][1].Receive(&pdu, w.now)
		w.step(t, 50)
	}
	if !w.ports[0][0].MayEnable() || w.ports[0][1].MayEnable() {
		t.Error("a link to another system joined, or put the working one out")
	}
}

func TestKeysAndLoop(t *testing.T) {
	w := newWire(2, Config{Active: true}, Config{Active: true})
	w.ports[1][1].Configure(PortConfig{ID: 2, Key: 77})
	w.step(t, 3000)
	if w.enabled(0) != 1 {
		t.Errorf("%d links with different keys", w.enabled(0))
	}
	g := New(Config{Active: true, System: system(1)})
	p := g.AddPort(PortConfig{ID: 1})
	p.SetCarrier(true, 0)
	g.Run(0, func(_ *Port, pdu *PDU) { c := *pdu; p.Receive(&c, 0) })
	g.Run(0, func(*Port, *PDU) {})
	if !p.loop || p.MayEnable() || g.Negotiated() {
		t.Error("a link to itself is used")
	}
}

func TestFallback(t *testing.T) {
	g := New(Config{Active: true, Fallback: true, System: system(1)})
	p := g.AddPort(PortConfig{ID: 1})
	p.SetCarrier(true, 0)
	for now := int64(0); now < 5000; now += 100 {
		g.Run(now, func(*Port, *PDU) {})
	}
	if !p.MayEnable() || g.Negotiated() {
		t.Error("nobody answers, and the link is not used")
	}
	partner := Info{System: system(2), Port: 1, Key: 1, State: Activity | Sync}
	p.Receive(&PDU{Actor: partner, Partner: p.Actor()}, 5000)
	g.Run(5000, func(*Port, *PDU) {})
	if !p.MayEnable() || !g.Negotiated() {
		t.Error("somebody answers")
	}
}

// Whatever one hears, a second's PDUs are three, and Next is never too late.
func TestRateAndNext(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	g := New(Config{Active: true, Fast: true, System: system(1)})
	p := g.AddPort(PortConfig{ID: 1})
	p.SetCarrier(true, 0)
	var sent []int64
	for now, next := int64(0), int64(0); now < 60_000; now += 10 {
		before := len(sent)
		g.Run(now, func(*Port, *PDU) { sent = append(sent, now) })
		if len(sent) > before && now < next {
			t.Fatalf("sent at %d, before %d", now, next)
		}
		next = g.Next(now)
		if r.IntN(10) == 0 && now < 30_000 {
			p.Receive(&PDU{Actor: Info{System: system(2), Key: uint16(r.IntN(2)), State: State(r.Uint32())}, Partner: Info{Port: uint16(r.Uint32())}}, now)
			next = 0
		}
	}
	for i := maxTx; i < len(sent); i++ {
		if sent[i]-sent[i-maxTx] < 1000 {
			t.Fatalf("%d PDUs from %d to %d", maxTx+1, sent[i-maxTx], sent[i])
		}
	}
	if len(sent) < 60 {
		t.Errorf("%d PDUs in a minute", len(sent))
	}
}

func TestParseErrors(t *testing.T) {
	good := (&PDU{}).AppendFrame(nil, system(1))[14:]
	edit := func(i int, v byte) []byte { b := bytes.Clone(good); b[i] = v; return b }
	for name, c := range map[string]struct {
		b    []byte
		want error
	}{
		"empty": {nil, ErrSubtype}, "marker": {edit(0, 2), ErrSubtype}, "short": {good[:109], ErrShort},
		"actor's type": {edit(2, 9), ErrTLV}, "actor's length": {edit(3, 19), ErrTLV},
		"partner's type": {edit(22, 9), ErrTLV}, "partner's length": {edit(23, 0), ErrTLV},
		"later version": {edit(1, 2), nil},
	} {
		if _, err := Parse(c.b); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is read is what is written again.
func FuzzParse(f *testing.F) {
	f.Add((&PDU{Actor: Info{System: system(1), Port: 3, State: 0xff}}).AppendFrame(nil, system(1)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParseFrame(b)
		if err != nil {
			return
		}
		q, err := ParseFrame(p.AppendFrame(nil, system(1)))
		if err != nil || p != q {
			t.Errorf("%+v became %+v: %v", p, q, err)
		}
		g := New(Config{Active: true, System: system(1)})
		port := g.AddPort(PortConfig{ID: 1})
		port.SetCarrier(true, 0)
		port.Receive(&p, 0)
		g.Run(0, func(*Port, *PDU) {})
		_ = port.Partner()
	})
}

// Any order of links going and coming ends with all of them in use once they all work.
func TestConverge(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 7))
		w := newWire(4, Config{Active: true, Fast: true}, Config{Active: seed%2 == 0, Fast: true})
		for range 40 {
			i := r.IntN(4)
			switch r.IntN(3) {
			case 0:
				w.cut[i] = !w.cut[i]
			case 1:
				up := r.IntN(2) == 0
				w.ports[0][i].SetCarrier(up, w.now)
				w.ports[1][i].SetCarrier(up, w.now)
			}
			w.step(t, int64(r.IntN(3000)))
		}
		for i := range 4 {
			w.cut[i] = false
			w.ports[0][i].SetCarrier(true, w.now)
			w.ports[1][i].SetCarrier(true, w.now)
		}
		w.step(t, 8000)
		if w.enabled(0) != 4 || w.enabled(1) != 4 {
			t.Errorf("seed %d: %d and %d links", seed, w.enabled(0), w.enabled(1))
		}
	}
}
