package vhostuser

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// pair is two ends of a connection.
func pair(t *testing.T) (a, b *Conn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var c [2]*Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "")
		n, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		c[i] = NewConn(n.(*net.UnixConn))
		t.Cleanup(func() { c[i].Close() })
	}
	return c[0], c[1]
}

func openFDs(t *testing.T) int {
	t.Helper()
	e, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(e)
}

func TestConn(t *testing.T) {
	a, b := pair(t)
	fd := memfd(t, 1)
	before := openFDs(t)
	want := Message{Request: SetMemTable, Flags: Version | FlagNeedReply, Payload: []byte("payload")}
	if err := a.Write(&want, fd, fd); err != nil {
		t.Fatal(err)
	}
	if err := a.Write(&Message{Request: GetFeatures, Flags: Version}); err != nil {
		t.Fatal(err)
	}
	var m Message
	fds, err := b.Read(&m)
	if err != nil || m.Request != want.Request || !m.NeedReply() || string(m.Payload) != "payload" || len(fds) != 2 {
		t.Fatalf("%+v with %v, %v", m, fds, err)
	}
	if flags, err := unix.FcntlInt(uintptr(fds[0]), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Error("descriptor is not closed on exec")
	}
	CloseFDs(fds)
	if fds, err := b.Read(&m); err != nil || m.Request != GetFeatures || len(fds) != 0 || len(m.Payload) != 0 {
		t.Fatalf("%+v with %v, %v", m, fds, err)
	}
	if got := openFDs(t); got != before {
		t.Errorf("%d descriptors, %d before", got, before)
	}
	a.Close()
	if _, err := b.Read(&m); err != io.EOF {
		t.Errorf("%v, want EOF", err)
	}
}

// Whatever is wrong with a message, the descriptors that came with it are closed.
func TestConnClosesFDs(t *testing.T) {
	fd := memfd(t, 1)
	header := func(flags, size uint32) []byte {
		b := le.AppendUint32(nil, uint32(GetFeatures))
		return le.AppendUint32(le.AppendUint32(b, flags), size)
	}
	for name, c := range map[string]struct {
		parts [][]byte
		fds   int // with each part
		eof   bool
	}{
		"version":         {[][]byte{header(2, 0)}, 3, false},
		"size":            {[][]byte{header(1, MaxPayload+1)}, 3, false},
		"size of 4 GiB":   {[][]byte{header(1, 0xffffffff)}, 3, false},
		"too many":        {[][]byte{header(1, 0)}, 9, false},
		"most possible":   {[][]byte{header(1, 0)}, 253, false},
		"cut header":      {[][]byte{header(1, 0)[:5]}, 3, true},
		"cut payload":     {[][]byte{header(1, 8), {1, 2, 3}}, 3, true},
		"many in payload": {[][]byte{header(1, 8), {1, 2, 3}, {4, 5}}, 4, false},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := pair(t)
			before := openFDs(t)
			var fds []int
			for range c.fds {
				fds = append(fds, fd)
			}
			for _, p := range c.parts {
				if _, _, err := a.c.WriteMsgUnix(p, unix.UnixRights(fds...), nil); err != nil {
					t.Fatal(err)
				}
			}
			if c.eof {
				a.c.CloseWrite()
			}
			var m Message
			if _, err := b.Read(&m); err == nil || err == io.EOF || c.eof != errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("error %v", err)
			}
			b.Close()
			a.Close()
			if got := openFDs(t); got != before-2 {
				t.Errorf("%d descriptors, want %d", got, before-2)
			}
		})
	}
}

// Without room for descriptors in the process, the connection ends and nothing leaks.
func TestConnNoRoomForFDs(t *testing.T) {
	a, b := pair(t)
	fd := memfd(t, 1)
	if err := a.Write(&Message{Request: SetMemTable, Flags: Version}, fd, fd, fd, fd); err != nil {
		t.Fatal(err)
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	before := openFDs(t)
	limit := old
	limit.Cur = uint64(fd + 3) // room for two more
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	var m Message
	_, err := b.Read(&m)
	if err2 := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err2 != nil {
		t.Fatal(err2)
	}
	if err == nil {
		t.Error("a message that lost descriptors was taken")
	}
	if got := openFDs(t); got != before {
		t.Errorf("%d descriptors, %d before", got, before)
	}
}
