package vhostuser

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/vhostuser/frontend"
	"github.com/gvswitch/gvswitch/netdev"
)

// childDir tells a process that it is the switch of TestInflightKill, and where.
const childDir = "GVSWITCH_TEST_CHILD_DIR"

// TestInflightChild is the switch that TestInflightKill kills; in other processes it is nothing.
func TestInflightChild(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		return
	}
	s := newSwitch(t)
	for _, name := range []string{"a", "b"} {
		s.add(t, OpenServer, name, netdev.Options{RunDir: dir})
	}
	select {}
}

// phoenix is a guest whose switch dies and comes back, with its table of what is in flight.
type phoenix struct {
	*frontend.Guest
	t    *testing.T
	path string
	area vhostuser.InflightArea
}

// dialUntil connects to a switch that is about to come up.
func (p *phoenix) dialUntil() *frontend.Conn {
	p.t.Helper()
	var err error
	for end := time.Now().Add(limit(time.Second)); time.Now().Before(end); time.Sleep(time.Millisecond) {
		var c *frontend.Conn
		if c, err = frontend.Dial(p.path); err == nil {
			return c
		}
	}
	p.t.Fatal(err)
	return nil
}

func (p *phoenix) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// begin connects for the first time, and asks for the table.
func (p *phoenix) begin(cfg frontend.Config) {
	p.t.Helper()
	var err error
	p.Guest, err = frontend.NewGuest(p.dialUntil(), cfg)
	p.must(err)
	p.t.Cleanup(p.Close)
	ask := vhostuser.InflightArea{Queues: 2, QueueSize: 256}
	p.must(p.Post(vhostuser.GetInflightFD, ask.Append(nil)))
	var m vhostuser.Message
	p.must(p.Unix().SetReadDeadline(time.Now().Add(frontend.Timeout)))
	fds, err := p.Read(&m)
	p.must(err)
	if len(fds) != 1 || len(m.Payload) != 24 {
		p.t.Fatalf("GET_INFLIGHT_FD: %d descriptors, payload of %d bytes", len(fds), len(m.Payload))
	}
	p.area = ask
	p.area.Size, p.area.FD.Num = binary.LittleEndian.Uint64(m.Payload), fds[0]
	p.t.Cleanup(func() { _ = unix.Close(fds[0]) })
	p.must(p.Set(vhostuser.SetInflightFD, p.area.Append(nil), fds[0]))
}

// again connects anew, not knowing where the rings are.
func (p *phoenix) again() {
	p.t.Helper()
	protocol := p.Protocol
	_ = p.Conn.Close()
	p.Conn = p.dialUntil()
	p.must(p.SetProtocol(protocol))
	p.must(p.Set(vhostuser.SetOwner, nil))
	p.must(p.Set(vhostuser.SetFeatures, vhostuser.AppendU64(nil, p.Features)))
	p.must(p.RAM.Table(p.Conn))
	p.must(p.Set(vhostuser.SetInflightFD, p.area.Append(nil), p.area.FD.Num))
	q := p.Queues[0]
	kickRX, callRX, kickTX, callTX := q.FDs()
	p.must(p.StartRing(0, q.RX, kickRX, callRX, uint32(rand.IntN(256))))
	p.must(p.StartRing(1, q.TX, kickTX, callTX, uint32(rand.IntN(256))))
}

// startChild starts the switch on a thread that lives as long as the test: the switch is to die
// with it.
func startChild(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestInflightChild$", "-test.timeout=0")
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// A switch is killed in the middle of its work, again and again. What it had taken it takes
// again: no frame is lost, none is damaged, none is overtaken, and all buffers come back.
func TestInflightKill(t *testing.T) {
	for name, c := range map[string]frontend.Config{"split": {}, "packed": {Packed: true}} {
		t.Run(name, func(t *testing.T) { testInflightKill(t, c) })
	}
}

func testInflightKill(t *testing.T, c frontend.Config) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	dir := t.TempDir()
	a := &phoenix{t: t, path: filepath.Join(dir, "a")}
	b := &phoenix{t: t, path: filepath.Join(dir, "b")}
	child := startChild(t, dir)
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	b.begin(c)
	a.begin(c)
	qa, qb := a.Queues[0], b.Queues[0]
	// With what comes twice after a kill, a burst, it must fit into the other guest's ring.
	sent, got, twice, window := 0, 0, 0, 180
	// turn sends what the window allows and takes what has come.
	turn := func() {
		t.Helper()
		for sent < got+window && qa.Send(numberedFrame(sent)) {
			sent++
		}
		for {
			f, err := qb.Net.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if f == nil {
				break
			}
			n := int(binary.BigEndian.Uint32(f.Data[14:]))
			if string(f.Data) != string(numberedFrame(n)) {
				t.Fatalf("frame %d is damaged", n)
			}
			switch {
			case n == got:
				got++
			case n < got:
				twice++
			default:
				t.Fatalf("frame %d came and frames from %d did not", n, got)
			}
		}
		if qb.Fill() > 0 && qb.RX.NeedKick() {
			kick, _, _, _ := qb.FDs()
			frontend.Signal(kick)
		}
	}
	kills := many(25, 500)
	for range kills {
		for end := time.Now().Add(time.Duration(1000+rand.IntN(9000)) * time.Microsecond); time.Now().Before(end); {
			turn()
		}
		before := got
		_ = child.Process.Kill()
		_ = child.Wait()
		turn()
		child = startChild(t, dir)
		b.again() // first, or frames would find no port
		a.again()
		for end := time.Now().Add(limit(time.Second)); got < before+200; turn() {
			if time.Now().After(end) {
				t.Fatalf("stuck at frame %d, %d were sent", got, sent)
			}
		}
	}
	window = 0
	for end := time.Now().Add(limit(time.Second)); got < sent || qa.InFlight() > 0; turn() {
		if time.Now().After(end) {
			t.Fatalf("%d of %d frames came, %d chains are still out", got, sent, qa.InFlight())
		}
	}
	avail, _ := qb.RX.Indices()
	if out := int(avail - qb.RX.UsedIdx()); !c.Packed && out != b.Config.Buffers {
		t.Errorf("the device has %d receive buffers, want %d", out, b.Config.Buffers)
	}
	t.Logf("%d kills, %d frames, %d of them came twice", kills, got, twice)
}

// numberedFrame has a number and a length that goes with it.
func numberedFrame(n int) []byte {
	f := frame(n, 60+n*97%1400)
	binary.BigEndian.PutUint32(f[14:], uint32(n))
	return append(f, fmt.Sprint(n)...)
}
