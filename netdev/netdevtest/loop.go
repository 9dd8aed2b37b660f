package netdevtest

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

// Port is a device with a poll thread's view of it: its first queues, a burst and
// counters.
type Port struct {
	Rx    netdev.RxQueue
	Tx    netdev.TxQueue
	Burst *packet.Burst
	RxSt  *netdev.RxStats
	TxSt  *netdev.TxStats
}

// NewPort takes d's first queues.
func NewPort(d netdev.Device) *Port {
	p := &Port{Burst: new(packet.Burst), RxSt: new(netdev.RxStats), TxSt: new(netdev.TxStats)}
	rx, tx := d.Queues()
	if len(rx) > 0 {
		p.Rx = rx[0]
	}
	if len(tx) > 0 {
		p.Tx = tx[0]
	}
	return p
}

// Offload is a packet's offload state as far as tests compare it.
type Offload struct {
	Flags                 uint8
	GSO                   packet.GSOType
	Size, Start, Off, Hdr uint16
}

// Got is a frame that was received.
type Got struct {
	Frame   []byte
	Offload Offload
}

// Receive takes frames until there are n or time is up.
func (p *Port) Receive(n int, limit time.Duration) []Got {
	var all []Got
	for end := time.Now().Add(limit); len(all) < n && time.Now().Before(end); {
		k := p.Rx.Recv(p.Burst, p.RxSt)
		for i := range k {
			q := &p.Burst.Pkts[i]
			o := Offload{q.Flags, q.GSOType, q.GSOSize, 0, 0, q.HdrLen}
			if q.Flags&packet.CsumPartial != 0 {
				o.Start, o.Off = q.CsumStart, q.CsumOffset
			}
			all = append(all, Got{q.AppendTo(nil), o})
		}
		if k > 0 {
			p.Rx.Release()
		} else {
			time.Sleep(100 * time.Microsecond)
		}
	}
	return all
}

// ReceiveTest is Receive of frames that Frame made; others, such as a kernel sends
// of itself, do not count.
func (p *Port) ReceiveTest(n int, limit time.Duration) []Got {
	var all []Got
	for end := time.Now().Add(limit); len(all) < n && time.Now().Before(end); {
		for _, g := range p.Receive(1, time.Until(end)) {
			if bytes.Equal(g.Frame[6:12], Frame(14, 0)[6:12]) {
				all = append(all, g)
			}
		}
	}
	return all
}

// Send sends frames with the given offload state.
func (p *Port) Send(o Offload, frames ...[]byte) {
	for len(frames) > 0 {
		n := min(len(frames), packet.MaxBurst)
		var list []uint16
		for i, f := range frames[:n] {
			q := &p.Burst.Pkts[i]
			q.SetBytes(f)
			q.Flags, q.GSOType, q.GSOSize, q.HdrLen = o.Flags, o.GSO, o.Size, o.Hdr
			q.CsumStart, q.CsumOffset = o.Start, o.Off
			list = append(list, uint16(i))
		}
		p.Burst.Start(n)
		p.Tx.Send(p.Burst, list, p.TxSt)
		frames = frames[n:]
	}
}

// Drops is the sum of a queue's losses.
func Drops(d *[packet.NumDropReasons]mem.Counter) (n uint64) {
	for i := range d {
		n += d[i].Load()
	}
	return n
}

// Forward moves frames between two devices both ways, as a poll thread would, until
// the test's end, then checks that each frame received was sent or counted.
func Forward(t testing.TB, a, b *Port) {
	t.Helper()
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		list := make([]uint16, packet.MaxBurst)
		for i := range list {
			list[i] = uint16(i)
		}
		burst := new(packet.Burst)
		move := func(from, to *Port) int {
			n := from.Rx.Recv(burst, from.RxSt)
			if n > 0 {
				burst.Start(n)
				to.Tx.Send(burst, list[:n], to.TxSt)
				from.Rx.Release()
			}
			return n
		}
		for {
			select {
			case <-quit:
				return
			default:
				if move(a, b)+move(b, a) == 0 {
					runtime.Gosched()
				}
			}
		}
	}()
	t.Cleanup(func() {
		close(quit)
		<-done
		for _, x := range [2][2]*Port{{a, b}, {b, a}} {
			if in, out := x[0].RxSt.Packets.Load(), x[1].TxSt.Packets.Load()+Drops(&x[1].TxSt.Drops); in != out {
				t.Errorf("%d received, %d sent or counted", in, out)
			}
		}
	})
}
