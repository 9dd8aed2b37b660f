package vhostuser

import (
	"encoding/binary"
	"errors"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
)

const (
	// maxAsked is how many pages are asked for at a time.
	maxAsked = 64
	// askAgain is when a page that did not come is asked for once more, and givenUp when one is that
	// the front end was going to answer for.
	askAgain = time.Second
	givenUp  = 30 * time.Second
	// listenEvery is how often answers are looked for while there are any to come.
	listenEvery = 20 * time.Millisecond
)

// asking is what was asked of the front end over the channel. p.mu is held.
type asking struct {
	list   []asked
	sent   uint64 // questions that will be answered
	heard  uint64 // answers
	in     []byte // the beginning of an answer
	warned bool
}

type asked struct {
	want   want
	number uint64 // of the question among those that are answered, from 1; 0: it is not
	at     time.Time
	part   bool // of a ring's own parts
}

// has tells whether w was asked for.
func (a *asking) has(w want) bool {
	return slices.ContainsFunc(a.list, func(x asked) bool { return x.want == w })
}

// answered takes out what concerns the addresses from first to last, and returns it.
func (a *asking) answered(first, last uint64) (list []want) {
	a.list = slices.DeleteFunc(a.list, func(x asked) bool {
		if x.want.page() < first&pageMask || x.want.page() > last {
			return false
		}
		list = append(list, x.want)
		return true
	})
	return list
}

// expire takes out what may be asked for again.
func (a *asking) expire() {
	a.list = slices.DeleteFunc(a.list, func(x asked) bool {
		age := time.Since(x.at)
		return age > givenUp || age > askAgain && x.number <= a.heard
	})
}

// translate asks the front end for what rings miss, and hears what it says to that. It has a
// goroutine of its own, since the poll threads, who find out what is missing, never wait.
func (p *peer) translate(io *iommu) {
	debug.SetPanicOnFault(true) // it builds rings
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-io.news:
		case <-timer.C:
		}
		p.mu.Lock()
		next := time.Hour
		over := p.iommu != io
		if !p.dead.Load() && !over {
			next = p.converse()
		}
		p.mu.Unlock()
		if over {
			return
		}
		timer.Reset(next)
	}
}

// converse does one round, and returns when the next is due.
func (p *peer) converse() time.Duration {
	io := p.iommu
	if p.postcopy != nil {
		if p.fetched() != nil {
			return time.Hour // the port is being stopped
		}
	} else if err := p.hear(); err != nil {
		p.d.warn("IOTLB misses get no answers", err)
		p.Channel(-1)
	}
	io.asking.expire()
	waiting := p.askAll()
	io.forget()
	if early := time.Until(io.next); io.stale && early > 0 {
		return early
	}
	p.refresh(false)
	switch {
	case waiting || len(io.asking.list) > 0 || len(io.refused) > 0:
		return listenEvery
	}
	return time.Hour
}

// askAll asks for everything that rings miss. It tells whether one waits.
func (p *peer) askAll() (waiting bool) {
	for _, r := range p.rings {
		var parts *ioParts
		switch {
		case r.waiting != nil:
			all, _ := p.partsOf(r.waiting) // build has looked at them
			parts = &all
		case r.io == nil:
			continue
		case r.io.paused.Load():
			parts = &r.io.parts
		default:
			for i := range r.io.misses {
				w := want(r.io.misses[i].Load())
				if i > 0 && w != 0 {
					r.io.misses[i].Store(0)
				}
				if w != 0 {
					waiting = true
					p.ask(w, false)
				}
			}
			continue
		}
		waiting = true
		_, missing, _ := p.locate(parts)
		for _, w := range missing {
			p.ask(w, true)
		}
	}
	return waiting
}

// ask asks for one page, unless that was done a moment ago or has come since somebody missed it:
// by now the guest may have no such page any more, and would see an error of its device.
func (p *peer) ask(w want, part bool) {
	io := p.iommu
	a := &io.asking
	if len(a.list) >= maxAsked || a.has(w) || io.view(w.perm()).Find(w.page()).Size != 0 || slices.ContainsFunc(io.refused, func(r denial) bool { return r.want == w }) {
		return
	}
	if p.postcopy != nil {
		p.fetch(w)
		return
	}
	if p.channel < 0 {
		if !a.warned {
			a.warned = true
			p.d.warn("guest has an IOMMU, but there is no way to ask for its translations", errors.New("no SET_BACKEND_REQ_FD"))
		}
		return
	}
	m := vhostuser.Message{
		Request: vhostuser.BackendIOTLB, Flags: vhostuser.Version,
		Payload: vhostuser.IOTLBMsg{IOVA: w.page(), Size: ^pageMask + 1, Perm: w.perm(), Type: vhostuser.IOTLBMiss}.Append(nil),
	}
	x := asked{want: w, at: time.Now(), part: part}
	if p.session.Protocol&vhostuser.ProtoReplyAck != 0 {
		m.Flags |= vhostuser.FlagNeedReply
		x.number = a.sent + 1
	}
	// A front end that does not listen is not waited for: the next round tries again.
	if unix.Sendto(p.channel, m.AppendTo(nil), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, nil) != nil {
		return
	}
	if x.number != 0 {
		a.sent++
	}
	io.counts.asked.Add(1)
	a.list = append(a.list, x)
}

// hear reads answers. What is not translated by now never will be.
func (p *peer) hear() error {
	a := &p.iommu.asking
	if p.channel < 0 {
		return nil
	}
	var b [1024]byte
	for range maxAsked {
		n, _, err := unix.Recvfrom(p.channel, b[:], unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			return nil
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return errors.New("the front end closed the channel")
		}
		a.in = append(a.in, b[:n]...)
		for len(a.in) >= vhostuser.HeaderSize {
			size := int(binary.LittleEndian.Uint32(a.in[8:]))
			if size > 256 {
				return errors.New("an answer is too long")
			}
			end := vhostuser.HeaderSize + size
			if len(a.in) < end {
				break
			}
			if request := binary.LittleEndian.Uint32(a.in); vhostuser.Request(request) == vhostuser.BackendIOTLB {
				p.heard(size == 8 && binary.LittleEndian.Uint64(a.in[vhostuser.HeaderSize:]) == 0)
			}
			a.in = a.in[end:]
		}
		a.in = slices.Clone(a.in)
	}
	return nil
}

// heard is the answer to the oldest question that has none. A page that has come was taken
// out of the list by its update; one that was refused goes on being missed: a chain with it is
// broken, a ring that needs it for itself asks again in a while.
func (p *peer) heard(ok bool) {
	io := p.iommu
	a := &io.asking
	if a.heard == a.sent {
		return // nobody asked
	}
	a.heard++
	i := slices.IndexFunc(a.list, func(x asked) bool { return x.number == a.heard })
	if i < 0 {
		return
	}
	x := a.list[i]
	if x.part && !ok {
		return
	}
	a.list = slices.Delete(a.list, i, i+1)
	if !ok {
		io.refuse(x.want)
	}
}
