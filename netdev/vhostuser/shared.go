package vhostuser

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/virtio"
)

const (
	watchEvery = 2 * time.Second
	// suspicions is how often in a row a ring must look so: a slow guest takes a while to fill its ring after
	// QEMU has written to the descriptor for it.
	suspicions    = 3
	notSharedHint = "the guest notifies, but its receive ring stays as it was: its memory may not be shared (QEMU: memory-backend-file or memory-backend-memfd with share=on, for all of its memory)"
)

// notShared looks for the mark of memory that is not shared: the kick descriptor
// of a receive ring, which nobody else reads, has been written to, and
// the ring's available index is still what it was, time and again. It tells whether that is news.
func (d *Device) notShared(p *peer) (news bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	debug.SetPanicOnFault(true)
	var err error
	defer p.recoverFault(&err)
	suspect := false
	for _, r := range p.rings {
		if r.tx == nil || r.moved || r.state != vhostuser.Running || r.io != nil && r.io.paused.Load() {
			continue
		}
		if r.touched() {
			r.moved = true
		} else if kicks(r.kick) == 0 {
			r.suspect = 0
		} else if r.suspect++; r.suspect >= suspicions {
			suspect = true
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	news = suspect && d.view.hint == ""
	d.view.hint = ""
	if suspect {
		d.view.hint = notSharedHint
	}
	return news
}

// touched tells whether the guest has made anything available since the ring started. The ring itself is
// a poll thread's; its memory may be looked at.
func (r *ring) touched() bool {
	if r.at.Features&virtio.FRingPacked == 0 {
		return mem.Load16Acquire(r.at.Avail+2) != uint16(r.base)
	}
	p := placeOf(r.base >> 16)
	flags := mem.Load16Acquire(r.at.Desc + descriptorSize*uintptr(p.idx) + 14)
	return flags&availBit != 0 == (p.wrap == 1)
}

// kicks is how often an eventfd was written to since it was last read, without
// reading it.
func kicks(fd vhostuser.FD) uint64 {
	if fd.Num < 0 || fd.Kind != vhostuser.KindEventFD {
		return 0
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd.Num))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte("eventfd-count:")); ok {
			n, _ := strconv.ParseUint(string(bytes.TrimSpace(rest)), 16, 64)
			return n
		}
	}
	return 0
}

// pauseOr waits for t and reports true; or false when the device is closed or
// done is.
func (d *Device) pauseOr(done <-chan struct{}, t time.Duration) bool {
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-d.quit:
	case <-done:
	case <-timer.C:
		return true
	}
	return false
}
