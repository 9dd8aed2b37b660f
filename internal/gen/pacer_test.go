package gen

import (
	"fmt"
	"math"
	"testing"
)

// drive asks a pacer every so many cycles until it is done, and returns how many frames were due.
func drive(p *Pacer, from, every uint64, most int) (n uint64) {
	for now := from; ; now += every {
		n += uint64(p.Due(now, most))
		if p.Done(now) {
			return n
		}
	}
}

// The number of frames is the rate times the duration, whatever the counter's frequency and however often the pacer is asked.
func TestPacerIsExact(t *testing.T) {
	for _, hz := range []uint64{1e9, 2_294_608_000, 2_294_607_123, 25_000_000, 3_999_999_989} {
		for _, rate := range []float64{1, 3, 999, 20000, 100_003, 1e6} {
			for _, every := range []uint64{1 + hz/1e6, hz / 1e5} {
				p := NewPacer(rate, hz, 1)
				const start = 1 << 60
				p.Start(start, start+hz, 0)
				if got := drive(&p, start, every, 32); got != uint64(rate) || p.Skipped() != 0 {
					t.Errorf("%v frames/s at %d Hz, asked every %d: %d frames in a second, %d skipped", rate, hz, every, got, p.Skipped())
				}
			}
		}
	}
}

// Each frame is due at its time and not a cycle before.
func TestPacerTimes(t *testing.T) {
	for _, rate := range []float64{7, 33.3, 1000.5, 123_456} {
		const hz = 2_294_608_000
		p := NewPacer(rate, hz, 1)
		p.Start(500, math.MaxUint64, 0)
		for k := range 2000 {
			at := 500 + uint64(math.Ceil(float64(k)*(hz/rate)-1e-3))
			if p.next+1 < at || p.next > at+1 {
				t.Fatalf("%v frames/s: frame %d due at %d, want %d", rate, k, p.next, at)
			}
			if next := p.next; next > 500 && p.Due(next-1, 32) != 0 {
				t.Fatalf("%v frames/s: frame %d was due too early", rate, k)
			}
			if n := p.Due(p.next, 32); n != 1 {
				t.Fatalf("%v frames/s: %d frames due at the time of one", rate, n)
			}
		}
	}
}

func TestPacerBursts(t *testing.T) {
	const hz = 1e9
	p := NewPacer(1e6, hz, 8) // a frame each 1000 cycles
	p.Start(0, 20_500, 0)
	var got []string
	for now := uint64(0); !p.Done(now); now += 500 {
		if n := p.Due(now, 32); n > 0 {
			got = append(got, fmt.Sprintf("%d@%d", n, now))
		}
	}
	if s := fmt.Sprint(got); s != "[8@7000 8@15000 5@20500]" {
		t.Errorf("bursts %s", s)
	}
}

// What cannot be made up for is skipped and counted; the rest goes on as if nothing had been.
func TestPacerSkips(t *testing.T) {
	const hz = 1e9
	p := NewPacer(1e6, hz, 1)
	p.Start(0, 10_000_000, 0) // 10,000 frames
	first := p.Due(0, 32)
	late := 0
	for p.next <= 5_000_000 {
		late += p.Due(5_000_000, 32)
	}
	rest := 0
	for now := uint64(5_000_000); !p.Done(now); now += 1000 {
		rest += p.Due(now, 32)
	}
	if first != 1 || late < backlog || late > backlog+10 || uint64(first+late+rest)+p.Skipped() != 10_000 || rest != 4999 {
		t.Errorf("%d at first, %d late, %d after, %d skipped", first, late, rest, p.Skipped())
	}
}

func TestPacerCount(t *testing.T) {
	p := NewPacer(0, 1e9, 1)
	p.Start(0, 1e9, 100)
	if n := p.Due(1, 32); n != 32 {
		t.Errorf("%d due without a rate", n)
	}
	p.Return(30) // the ring was full
	if n := drive(&p, 2, 1, 32); n != 98 {
		t.Errorf("%d of 98 left", n)
	}
	p = NewPacer(1e6, 1e9, 1)
	p.Start(0, 1e9, 100)
	if n := drive(&p, 0, 10, 32); n != 100 {
		t.Errorf("%d of 100", n)
	}
	// Held up for longer than all of them take.
	p.Start(0, 1e12, backlog+100)
	if n := drive(&p, 1e10, 10, 32); n != backlog+100 || p.Skipped() == 0 {
		t.Errorf("%d of %d, and %d given up", n, backlog+100, p.Skipped())
	}
}

// A rate beyond all measure is none, and a trial at it ends.
func TestPacerImmeasurable(t *testing.T) {
	for _, rate := range []float64{1e30, 1e300} {
		p := NewPacer(rate, 2_400_000_000, 1)
		p.Start(0, 1000, 0)
		if n := p.Due(500, 32); n != 32 {
			t.Errorf("%g: %d frames due in the middle, want 32", rate, n)
		}
		if n := p.Due(1000, 32); n != 0 {
			t.Errorf("%g: %d frames due at the end", rate, n)
		}
	}
}
