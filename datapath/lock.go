package datapath

import (
	"runtime"
	"sync/atomic"
)

// spinLock guards what poll threads write and share. It is held for a batch at
// most and never over anything that blocks. It is in Go, not in assembly: a
// thread that waits here must be stoppable by the collector.
type spinLock struct {
	v atomic.Uint32
	_ [60]byte
}

func (l *spinLock) lock() {
	if !l.v.CompareAndSwap(0, 1) {
		l.wait()
	}
}

func (l *spinLock) unlock() { l.v.Store(0) }

// spins is how often a waiter looks before it lets others run: the holder may
// have been descheduled on this very core. 300 looks are about as long as a
// batch of 32 small frames.
const spins = 300

func (l *spinLock) wait() {
	for {
		for range spins {
			if l.v.Load() == 0 && l.v.CompareAndSwap(0, 1) {
				return
			}
		}
		runtime.Gosched()
	}
}
