package frontend

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/virtio/virtiotest"
)

// Feature bits that change how a Guest behaves (virtio 1.2, sections 5.1.3, 6).
const (
	mrgRxbuf   = 1 << 15
	version1   = 1 << 32
	ringPacked = 1 << 34
)

// Config is what kind of guest to be. The zero value is a modest Linux.
type Config struct {
	Clear     uint64 // features not to acknowledge, of those offered
	Protocol  uint64 // protocol features to acknowledge, 0 = all offered
	Packed    bool   // packed rings, if they are offered
	Pairs     int    // queue pairs, default 1
	QueueSize int    // default 256
	BufSize   int    // of each receive buffer, default 2048
	SendSize  int    // the longest frame to send, with its header, default 2048
	Buffers   int    // of each ring, default QueueSize
	Poll      bool   // no kick and call descriptors
	Regions   int    // of memory, default 1; more than 8 go by ADD_MEM_REG
	Base      uint64 // guest address of the memory
	RxCuts    []int
	RxDirect  bool // no indirect tables for receive buffers even if possible

	// Translate, if there is one, makes the guest one with an IOMMU: all its addresses are
	// translated by what IOMMU is told. It gets each miss.
	Translate func(*IOMMU, vhostuser.IOTLBMsg)
}

func (c *Config) defaults() {
	def := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	def(&c.Pairs, 1)
	def(&c.QueueSize, 256)
	def(&c.BufSize, 2048)
	def(&c.SendSize, 2048)
	def(&c.Buffers, c.QueueSize)
	def(&c.Regions, 1)
}

// Guest is a guest with a network card.
type Guest struct {
	*Conn
	Config   Config
	RAM      *RAM
	Features uint64 // acknowledged
	Queues   []*Queue
	IOMMU    *IOMMU
}

// Queue is a queue pair.
type Queue struct {
	virtiotest.Net
	Index          int
	kickRX, callRX int // -1 without
	kickTX, callTX int
}

// Vrings are the numbers of the pair's rings: where the guest receives and where it transmits.
func (q *Queue) Vrings() (rx, tx int) { return 2 * q.Index, 2*q.Index + 1 }

// NewGuest negotiates over c, and sets everything up. The guest owns c.
func NewGuest(c *Conn, cfg Config) (*Guest, error) {
	cfg.defaults()
	g := &Guest{Conn: c, Config: cfg}
	err := g.Negotiate()
	if err == nil && cfg.Translate != nil {
		err = g.makeIOMMU()
	}
	if err == nil {
		err = g.makeRAM()
	}
	if err == nil {
		err = g.sendRAM()
	}
	if err == nil {
		err = g.makeQueues()
	}
	for _, q := range g.Queues {
		if err == nil {
			err = g.Start(q)
		}
	}
	if err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// Negotiate agrees on features on a new connection.
func (g *Guest) Negotiate() error {
	offered, err := g.GetU64(vhostuser.GetFeatures)
	if err != nil {
		return err
	}
	g.Features = offered &^ (g.Config.Clear | vhostuser.FeatureLogAll) // which is for migration alone
	if g.Config.Translate == nil {
		g.Features &^= vhostuser.FeatureAccessPlatform // as QEMU does
	}
	if !g.Config.Packed {
		g.Features &^= ringPacked
	}
	if g.Features&vhostuser.FeatureProtocol != 0 {
		p, err := g.GetU64(vhostuser.GetProtocolFeatures)
		if err != nil {
			return err
		}
		if g.Config.Protocol != 0 {
			p &= g.Config.Protocol
		}
		if err := g.SetProtocol(p); err != nil {
			return err
		}
	}
	if err := g.Set(vhostuser.SetOwner, nil); err != nil {
		return err
	}
	return g.Set(vhostuser.SetFeatures, vhostuser.AppendU64(nil, g.Features))
}

// ringSpace is the memory for one ring and its buffers.
func (g *Guest) ringSpace() int {
	n := virtiotest.RingBytes(g.Config.QueueSize) + g.Config.Buffers*virtiotest.SlotBytes(max(g.Config.BufSize, g.Config.SendSize))
	return (n + 15) &^ 15
}

func (g *Guest) makeRAM() error {
	const page = 4096
	total := 2 * g.Config.Pairs * g.ringSpace()
	sizes := make([]int, g.Config.Regions)
	for i := range sizes {
		sizes[i] = (total/len(sizes) + 2*page) &^ (page - 1)
	}
	var err error
	g.RAM, err = NewRAM(g.Config.Base, sizes...)
	return err
}

func (g *Guest) sendRAM() error {
	ram := g.RAM
	if g.IOMMU != nil {
		ram = ram.hidden()
	}
	if len(ram.Regions) > vhostuser.MaxFDs {
		return ram.Add(g.Conn)
	}
	return ram.Table(g.Conn)
}

func (g *Guest) makeQueues() error {
	hdr := 10
	if g.Features&(version1|mrgRxbuf) != 0 {
		hdr = 12
	}
	at := g.Config.Base
	for i := range g.Config.Pairs {
		q := &Queue{Index: i, kickRX: -1, callRX: -1, kickTX: -1, callTX: -1}
		g.Queues = append(g.Queues, q)
		q.HdrLen, q.Mergeable, q.RxCuts = hdr, g.Features&mrgRxbuf != 0, g.Config.RxCuts
		for _, part := range []struct {
			set  func(*virtiotest.Ring, uint64, int, int)
			size int
		}{{q.SetRx, g.Config.BufSize}, {q.SetTx, g.Config.SendSize}} {
			ring, rest, err := g.ring(at)
			if err != nil {
				return err
			}
			part.set(ring, rest, part.size, g.Config.Buffers)
			at += uint64(g.ringSpace())
		}
		q.Fill()
		if g.Config.Poll {
			q.RX.Interrupts(false)
			q.TX.Interrupts(false)
			continue
		}
		for _, fd := range []*int{&q.kickRX, &q.callRX, &q.kickTX, &q.callTX} {
			var err error
			if *fd, err = EventFD(); err != nil {
				return err
			}
		}
	}
	return nil
}

// ring makes a ring at at, which must not cross regions; buffers behind it may.
func (g *Guest) ring(at uint64) (*virtiotest.Ring, uint64, error) {
	n := virtiotest.RingBytes(g.Config.QueueSize)
	for _, r := range g.RAM.Regions {
		if at >= r.Guest && at+uint64(n) <= r.Guest+r.Size {
			return virtiotest.New(g.RAM.Mem, at, g.Config.QueueSize, g.Features), at + uint64(n), nil
		}
	}
	return nil, 0, errors.New("ring crosses memory regions: choose other sizes")
}

// fdMessage sends SET_VRING_KICK, CALL or ERR.
func (g *Guest) fdMessage(r vhostuser.Request, vring, fd int) error {
	const noFD = 1 << 8
	if fd < 0 {
		return g.Set(r, vhostuser.AppendU64(nil, uint64(vring)|noFD))
	}
	return g.Set(r, vhostuser.AppendU64(nil, uint64(vring)), fd)
}

// Kick and Call hand over descriptors, -1 for none.
func (g *Guest) Kick(vring, fd int) error { return g.fdMessage(vhostuser.SetVringKick, vring, fd) }

// Call is Kick for the other direction.
func (g *Guest) Call(vring, fd int) error { return g.fdMessage(vhostuser.SetVringCall, vring, fd) }

// Addr sends where a ring is.
func (g *Guest) Addr(vring int, r *virtiotest.Ring) error {
	return g.Set(vhostuser.SetVringAddr, g.AddrOf(vring, r).Append(nil))
}

// AddrOf is what Addr sends.
func (g *Guest) AddrOf(vring int, r *virtiotest.Ring) vhostuser.VringAddr {
	base := uint64(userBase)
	if g.IOMMU != nil {
		base = 0
	}
	return vhostuser.VringAddr{Index: uint32(vring), Desc: base + r.Desc, Avail: base + r.Avail, Used: base + r.Used}
}

// Vring sends a message with a vring's number and a value.
func (g *Guest) Vring(r vhostuser.Request, vring int, v uint32) error {
	return g.Set(r, vhostuser.VringState{Index: uint32(vring), Num: v}.Append(nil))
}

// Base stops a vring and asks where it stands.
func (g *Guest) Base(vring int) (uint32, error) {
	p, err := g.Get(vhostuser.GetVringBase, vhostuser.VringState{Index: uint32(vring)}.Append(nil))
	if err != nil || len(p) != 8 {
		return 0, fmt.Errorf("answer of %d bytes, %w", len(p), err)
	}
	return uint32(p[4]) | uint32(p[5])<<8 | uint32(p[6])<<16 | uint32(p[7])<<24, nil
}

// Start sets up and enables both rings of a pair.
func (g *Guest) Start(q *Queue) error {
	rx, tx := q.Vrings()
	if err := g.StartRing(rx, q.RX, q.kickRX, q.callRX, q.RX.Base(q.RX.Start())); err != nil {
		return err
	}
	return g.StartRing(tx, q.TX, q.kickTX, q.callTX, q.TX.Base(q.TX.Start()))
}

// StartRing sets up and enables one ring that begins at index base.
func (g *Guest) StartRing(vring int, r *virtiotest.Ring, kick, call int, base uint32) error {
	steps := []func() error{
		func() error { return g.Vring(vhostuser.SetVringNum, vring, uint32(r.Size)) },
		func() error { return g.Vring(vhostuser.SetVringBase, vring, base) },
		func() error { return g.Addr(vring, r) },
		func() error { return g.Call(vring, call) },
		func() error { return g.Kick(vring, kick) },
	}
	if g.Features&vhostuser.FeatureProtocol != 0 {
		steps = append(steps, func() error { return g.Vring(vhostuser.SetVringEnable, vring, 1) })
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("vring %d: %w", vring, err)
		}
	}
	return nil
}

// FDs are the descriptors of the pair's rings, -1 for none.
func (q *Queue) FDs() (kickRX, callRX, kickTX, callTX int) {
	return q.kickRX, q.callRX, q.kickTX, q.callTX
}

// Send sends a frame and kicks if asked to; false when the ring is full.
func (q *Queue) Send(frame []byte) bool {
	return q.SendShaped(virtiotest.Hdr{}, frame, virtiotest.Shape{})
}

// SendShaped is Send in any layout.
func (q *Queue) SendShaped(h virtiotest.Hdr, frame []byte, s virtiotest.Shape) bool {
	if !q.Net.Send(h, frame, s) {
		return false
	}
	if q.TX.NeedKick() {
		Signal(q.kickTX)
	}
	return true
}

// Recv waits for a frame.
func (q *Queue) Recv(timeout time.Duration) (*virtiotest.Frame, error) {
	deadline := time.Now().Add(timeout)
	for {
		f, err := q.Net.Recv()
		if f != nil || err != nil {
			if q.Fill() > 0 && q.RX.NeedKick() {
				Signal(q.kickRX)
			}
			return f, err
		}
		left := time.Until(deadline)
		if left <= 0 {
			return nil, fmt.Errorf("no frame within %v", timeout)
		}
		if q.callRX < 0 {
			time.Sleep(20 * time.Microsecond)
			continue
		}
		if !q.RX.Interrupts(true) {
			p := []unix.PollFd{{Fd: int32(q.callRX), Events: unix.POLLIN}}
			_, _ = unix.Poll(p, int(left.Milliseconds())+1)
		}
		var b [8]byte
		_, _ = unix.Read(q.callRX, b[:])
	}
}

// Signal writes to a kick descriptor, if there is one.
func Signal(fd int) {
	if fd >= 0 {
		_, _ = unix.Write(fd, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
}

// Close closes everything, as the end of the guest's process would.
func (g *Guest) Close() {
	_ = g.Conn.Close()
	if g.IOMMU != nil {
		g.IOMMU.close()
	}
	for _, q := range g.Queues {
		for _, fd := range []int{q.kickRX, q.callRX, q.kickTX, q.callTX} {
			if fd >= 0 {
				_ = unix.Close(fd)
			}
		}
	}
	g.Queues = nil
	if g.RAM != nil {
		g.RAM.Close()
	}
}
