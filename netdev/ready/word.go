package ready

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Word says whether a descriptor may have something to read. Ready, Set, Rearm and
// Mute are for the one thread that reads the descriptor; they do not
// allocate or block. (Set may be called by anybody.)
type Word struct {
	flag atomic.Uint32
	_    [60]byte // a cache line of its own: poll threads look at it all the time

	epfd  int
	fd    int
	event unix.EpollEvent // scratch of Rearm and Mute
}

// Ready reports whether a read is worth while.
func (w *Word) Ready() bool { return w.flag.Load() != 0 }

// Set makes Ready true until Rearm.
func (w *Word) Set() { w.flag.Store(1) }

// Clear makes Ready false until Set, whatever comes: the descriptor is of no use any
// more.
func (w *Word) Clear() { w.flag.Store(0) }

// Rearm says that the descriptor was found empty: Ready is false until something
// comes.
func (w *Word) Rearm() {
	w.flag.Store(0)
	w.control(unix.EPOLLIN | unix.EPOLLONESHOT)
}

// Mute says that the helper need not watch the descriptor: the thread does
// itself. It holds until Rearm.
func (w *Word) Mute() { w.control(unix.EPOLLONESHOT) } // errors come unasked, so: once
