package vhostuser

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/vhostuser/frontend"
	"github.com/gvswitch/gvswitch/netdev"
)

// dial connects without saying anything.
func (l *lab) dial() *frontend.Conn {
	l.t.Helper()
	c, err := frontend.Dial(l.paths[0])
	if err != nil {
		l.t.Fatal(err)
	}
	return c
}

// B01: descriptors that nobody asked for do not pile up, even when the process has few.
func TestUnexpectedFDs(t *testing.T) {
	l := newLab(t, nil)
	e, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	few := old
	few.Cur = uint64(len(e) + 40)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
			t.Fatal(err)
		}
	}()
	fd, err := frontend.EventFD()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	l.mark()
	payloads := map[vhostuser.Request][]byte{
		vhostuser.SetFeatures: make([]byte, 8), vhostuser.SetOwner: nil, vhostuser.SetVringNum: make([]byte, 8),
		vhostuser.SetVringAddr: make([]byte, 40), vhostuser.SetVringBase: make([]byte, 8), vhostuser.SetVringEnable: make([]byte, 8),
		vhostuser.SetVringKick: make([]byte, 8), vhostuser.SetVringCall: make([]byte, 8),
		vhostuser.SetMemTable: vhostuser.AppendMemTable(nil, make([]vhostuser.Region, 1)), 77: nil,
	}
	for i := range many(40, 400) {
		for r, p := range payloads {
			n := 1 + i%8
			if r == vhostuser.SetMemTable {
				n = 3
			} else if r == vhostuser.SetVringKick || r == vhostuser.SetVringCall {
				n = 2
			}
			c := l.dial()
			var fds []int
			for range n {
				fds = append(fds, fd)
			}
			if err := c.Post(r, p, fds...); err != nil {
				t.Fatal(err)
			}
			if r == 77 { // not known, so nothing is wrong with it
				if _, err := c.GetU64(vhostuser.GetFeatures); err != nil {
					t.Fatal(err)
				}
			} else if err := c.Closed(); err != nil {
				t.Fatalf("%v with %d descriptors: %v", r, n, err)
			}
			c.Close()
		}
	}
	l.alive()
}

// B03: ring sizes, over and over, and bad ones.
func TestRingSizes(t *testing.T) {
	l := newLab(t, nil)
	c := l.dial()
	for range many(20_000, 100_000) {
		if err := c.Post(vhostuser.SetVringNum, vhostuser.VringState{Index: 0, Num: 1024}.Append(nil)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.SetProtocol(vhostuser.ProtoReplyAck); err != nil {
		t.Fatal(err)
	}
	for _, n := range []uint32{0, 3, 32769, 65536, 0x10000 + 256, 0xffffffff} {
		err := c.Set(vhostuser.SetVringNum, vhostuser.VringState{Index: 1, Num: n}.Append(nil))
		if !errors.Is(err, frontend.ErrRefused) {
			t.Errorf("size %d: %v", n, err)
		}
	}
	for _, n := range []uint32{1, 2, 32768} {
		if err := c.Set(vhostuser.SetVringNum, vhostuser.VringState{Index: 1, Num: n}.Append(nil)); err != nil {
			t.Errorf("size %d: %v", n, err)
		}
	}
	c.Close()
	l.alive()
}

// B05: dirty logs that are none are refused, and traffic goes on.
func TestBadDirtyLog(t *testing.T) {
	l := newLab(t, nil)
	a := attach(t, l.paths[0], frontend.Config{})
	b := attach(t, l.paths[1], frontend.Config{})
	ram, err := frontend.NewRAM(0, 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer ram.Close()
	l.before.fds++
	l.before.mappings++
	log := func(size, offset uint64) []byte { return vhostuser.AppendU64(vhostuser.AppendU64(nil, size), offset) }
	for _, p := range [][]byte{log(0xfffffffffffff000, 0x2000), log(4096, 8192), log(1<<40, 0), log(64, 0)} {
		for n := range 3 {
			if p[0] == 64 && n == 1 {
				continue // it is one
			}
			fds := []int{ram.FDs()[0], ram.FDs()[0]}[:n]
			if err := a.Set(vhostuser.SetLogBase, p, fds...); !errors.Is(err, frontend.ErrRefused) {
				t.Errorf("log %x: %v", p, err)
			}
		}
	}
	pass(t, a, b)
	a.Close()
	b.Close()
	l.alive()
}

// B06: what cannot be mapped is refused, and messages that would need it are.
func TestBadMemory(t *testing.T) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer vhostuser.CloseFDs(pipe[:])
	open := func(path string, flags int) int {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	disk := t.TempDir() + "/file"
	if err := os.WriteFile(disk, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	ram, err := frontend.NewRAM(0, 1<<16)
	if err != nil {
		t.Fatal(err)
	}
	defer ram.Close()
	short, err := frontend.NewRAM(0, 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer short.Close()
	readOnly, err := unix.Open(procFD(ram.FDs()[0]), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(readOnly)
	for name, fd := range map[string]int{
		"pipe": pipe[0], "null": open("/dev/null", unix.O_RDWR), "zero": open("/dev/zero", unix.O_RDWR),
		"read-only": readOnly, "short": short.FDs()[0], "disk": open(disk, unix.O_RDWR), "directory": open("/dev/shm", unix.O_RDONLY),
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, nil)
			a := attach(t, l.paths[0], frontend.Config{})
			witness := open("/dev/null", unix.O_RDONLY) // a descriptor closed twice would hit something like this
			err := a.Set(vhostuser.SetMemTable, vhostuser.AppendMemTable(nil, ram.Regions), fd)
			if !errors.Is(err, frontend.ErrRefused) {
				t.Fatalf("taken as memory: %v", err)
			}
			if l.ports[0].dev.Info().Link {
				t.Error("link is up without memory")
			}
			if err := a.Addr(0, a.Queues[0].RX); !errors.Is(err, frontend.ErrRefused) {
				t.Errorf("address without memory: %v", err)
			}
			if err := a.Kick(0, -1); !errors.Is(err, frontend.ErrRefused) {
				t.Errorf("kick without memory: %v", err)
			}
			if err := a.Vring(vhostuser.SetVringEnable, 0, 1); err != nil {
				t.Errorf("enable: %v", err)
			}
			if _, err := unix.FcntlInt(uintptr(witness), unix.F_GETFD, 0); err != nil {
				t.Error("an unrelated descriptor was closed")
			}
			// And with good memory it works.
			if err := a.RAM.Table(a.Conn); err != nil {
				t.Fatal(err)
			}
			if err := a.Start(a.Queues[0]); err != nil {
				t.Fatal(err)
			}
			if !l.ports[0].dev.Info().Link {
				t.Error("link is down with memory")
			}
			a.Close()
			l.before.fds++ // the witness
			l.alive()
		})
	}
}

// B08: a ring without descriptors, where there were some before.
func TestNoDescriptors(t *testing.T) {
	l := newLab(t, nil)
	a := attach(t, l.paths[0], frontend.Config{})
	b := attach(t, l.paths[1], frontend.Config{})
	pass(t, a, b)
	for vring := range 2 {
		if err := a.Call(vring, -1); err != nil {
			t.Fatal(err)
		}
		if err := a.Kick(vring, -1); err != nil {
			t.Fatal(err)
		}
		if err := a.Set(vhostuser.SetVringErr, vhostuser.AppendU64(nil, uint64(vring)|1<<8)); err != nil {
			t.Fatal(err)
		}
	}
	rx, _ := l.ports[0].dev.Queues()
	if rx[0].FD() != -1 {
		t.Error("a kick descriptor is left")
	}
	if !a.Queues[0].Send(frame(7, 200)) {
		t.Fatal("ring full")
	}
	sameFrame(t, b.Queues[0], frame(7, 200))
	b.Queues[0].Send(frame(8, 200))
	eventually(t, "frame arrives without a call", func() bool { return a.Queues[0].RX.Pending() == 1 })
	a.Close()
	b.Close()
	l.alive()
}

// B14: replies on a connection that never asked what there is.
func TestReplies(t *testing.T) {
	l := newLab(t, nil)
	c := l.dial()
	need := func(r vhostuser.Request, p []byte) {
		t.Helper()
		m := vhostuser.Message{Request: r, Flags: vhostuser.Version | vhostuser.FlagNeedReply, Payload: p}
		if err := c.Write(&m); err != nil {
			t.Fatal(err)
		}
	}
	// Not acknowledged yet: no replies.
	need(vhostuser.SetOwner, nil)
	if err := c.Silent(50 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if err := c.Unix().SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := c.SetProtocol(vhostuser.ProtoReplyAck); err != nil {
		t.Fatal(err)
	}
	sent := []vhostuser.Request{vhostuser.SetOwner, vhostuser.GetFeatures, vhostuser.SetLogBase, 99, vhostuser.SendRARP, vhostuser.ResetOwner, vhostuser.GetQueueNum}
	for _, r := range sent {
		need(r, nil)
	}
	for _, r := range sent {
		m, err := c.Reply(limit(time.Second))
		if err != nil || m.Request != r || len(m.Payload) != 8 {
			t.Fatalf("reply %+v to %v, %v", m, r, err)
		}
	}
	if err := c.Silent(50 * time.Millisecond); err != nil {
		t.Errorf("more replies than messages: %v", err)
	}
	c.Close()
	l.alive()
}

// B30: RARP is injected, once, if it was agreed on.
func TestRARP(t *testing.T) {
	l := newLab(t, nil)
	a := attach(t, l.paths[0], frontend.Config{})
	if err := a.Set(vhostuser.SendRARP, []byte{0x52, 0x54, 0, 1, 2, 3, 0, 0}); err != nil {
		t.Fatal(err)
	}
	if err := a.Set(vhostuser.SendRARP, []byte{1, 0, 0, 0, 0, 0, 0, 0}); err != nil {
		t.Fatal(err) // a group address: nothing to announce
	}
	want := "\xff\xff\xff\xff\xff\xff\x52\x54\x00\x01\x02\x03\x80\x35\x00\x01\x08\x00\x06\x04\x00\x03" +
		"\x52\x54\x00\x01\x02\x03\x00\x00\x00\x00\x52\x54\x00\x01\x02\x03"
	l.mu.Lock()
	got := l.ports[0].injected
	l.mu.Unlock()
	if len(got) != 1 || len(got[0]) != 60 || !strings.HasPrefix(string(got[0]), want) {
		t.Errorf("injected %x", got)
	}
}

// A change of the MTU reaches a guest that listens; one that does not is not waited for.
func TestConfigChange(t *testing.T) {
	l := newLab(t, nil)
	a := attach(t, l.paths[0], frontend.Config{})
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	if err := a.Set(vhostuser.SetBackendReqFD, nil, pair[1]); err != nil {
		t.Fatal(err)
	}
	unix.Close(pair[1])
	d := l.ports[0].dev.(*Device)
	if err := d.Adjust(netdev.Options{RunDir: l.dir, MTU: 9000}); err != nil {
		t.Fatal(err)
	}
	var b [64]byte
	n, err := unix.Read(pair[0], b[:])
	if want := "\x02\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00"; err != nil || string(b[:n]) != want {
		t.Fatalf("got %x, %v", b[:max(n, 0)], err)
	}
	for i := range 400 { // nobody reads
		if err := d.Adjust(netdev.Options{RunDir: l.dir, MTU: 1500 + i%2}); err != nil {
			t.Fatal(err)
		}
	}
	p, err := a.Get(vhostuser.GetConfig, vhostuser.ConfigSpace{Data: make([]byte, 12)}.Append(nil))
	if err != nil || p[12+10] != 0xdd || d.Info().MTU != 1501 {
		t.Errorf("config %x, %v", p, err)
	}
	// Another channel takes the place of the first, of which this side is then closed.
	second, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(second[0])
	if err := a.Set(vhostuser.SetBackendReqFD, nil, second[1]); err != nil {
		t.Fatal(err)
	}
	unix.Close(second[1])
	for n = 1; n > 0; {
		if n, err = unix.Read(pair[0], b[:]); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Adjust(netdev.Options{RunDir: l.dir, MTU: 1400, MAC: "02:00:00:00:00:44"}); err != nil {
		t.Fatal(err)
	}
	// Of the changes before, some may still have been on their way.
	if n, err = unix.Read(second[0], b[:]); err != nil || n == 0 || n%vhostuser.HeaderSize != 0 && n < len(b) {
		t.Errorf("on the second channel: %x, %v", b[:max(n, 0)], err)
	}
}

// Nothing is said to a front end that did not ask for the configuration space.
func TestNoConfigChange(t *testing.T) {
	l := newLab(t, nil)
	a := attach(t, l.paths[0], frontend.Config{Protocol: vhostuser.ProtocolFeatures &^ vhostuser.ProtoConfig})
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	if err := a.Set(vhostuser.SetBackendReqFD, nil, pair[1]); err != nil {
		t.Fatal(err)
	}
	unix.Close(pair[1])
	d := l.ports[0].dev.(*Device)
	if err := d.Adjust(netdev.Options{RunDir: l.dir, MTU: 9000}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the change is in force", func() bool { return d.Info().MTU == 9000 })
	a.Close() // and with it the channel, so that what was sent can be told from nothing
	var b [64]byte
	if n, err := unix.Read(pair[0], b[:]); n != 0 || err != nil {
		t.Errorf("got %x, %v", b[:max(n, 0)], err)
	}
}
