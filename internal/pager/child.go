package pager

import (
	"errors"
	"os"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/mem"
)

const (
	// name is how the process is called, by which Main knows it.
	name = "gvswitch-pager"
	// socketFD is where it finds its end of the socket.
	socketFD = 3
	// MaxTouches is how many pages may be waited for at a time: each takes a thread.
	MaxTouches = 64
)

// Main is the process, if this is one: then it does not return.
func Main() {
	if os.Args[0] != name {
		return
	}
	// A thread that waits for a page can be interrupted by nobody, so nobody may want to.
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(MaxTouches + 4)
	c := child{uffd: -1}
	for {
		m, fd, err := receive(socketFD)
		if err != nil {
			os.Exit(0) // the switch has gone, or is done
		}
		c.obey(m, fd)
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

type child struct {
	uffd   int
	mapped [][]byte
}

func (c *child) obey(m message, fd int) {
	answer := m
	var err error
	switch m.op {
	case opFault:
		var fresh int
		if fresh, err = openUserfault(); err == nil {
			_ = send(socketFD, answer, fresh)
			if c.uffd < 0 {
				c.uffd = fresh
			} else {
				_ = unix.Close(fresh)
			}
			return
		}
	case opMap:
		var b []byte
		if b, err = unix.Mmap(fd, int64(m.a), int(m.b), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE); err == nil {
			c.mapped = append(c.mapped, b)
			answer.a = uint64(mem.AddrOf(b))
		}
	case opRegister:
		for _, b := range c.mapped {
			if err == nil {
				err = register(c.uffd, b)
			}
		}
		c.mapped = nil
	case opTouch:
		go func() {
			mem.Load16Acquire(uintptr(m.b) &^ 1) // which nobody leaves out
			_ = send(socketFD, answer)
		}()
		return
	}
	if err != nil {
		errno := unix.EIO
		_ = errors.As(err, &errno)
		answer.errno = uint64(errno)
	}
	_ = send(socketFD, answer)
}
