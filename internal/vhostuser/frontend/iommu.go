package frontend

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
)

// hidden is the memory as the back end is told of that of a guest with an IOMMU, whose own
// addresses are those of the IOMMU: what is not translated is nowhere.
func (m *RAM) hidden() *RAM {
	h := &RAM{Regions: slices.Clone(m.Regions)}
	for i := range h.Regions {
		h.Regions[i].Guest += 1 << 40
	}
	return h
}

// IOMMU is the front end's side of a guest's IOMMU. A goroutine takes what the back end misses and
// hands it to Config.Translate, which may call the methods, as may others.
type IOMMU struct {
	// Misses counts what came.
	Misses atomic.Int64

	g       *Guest
	channel *os.File
	done    sync.WaitGroup
}

func (g *Guest) makeIOMMU() error {
	if g.Features&vhostuser.FeatureAccessPlatform == 0 {
		return errors.New("no IOMMU is offered")
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	m := &IOMMU{g: g, channel: os.NewFile(uintptr(fds[0]), "channel")}
	err = g.Set(vhostuser.SetBackendReqFD, nil, fds[1])
	_ = unix.Close(fds[1])
	g.IOMMU = m
	m.done.Go(m.serve)
	return err
}

// serve takes misses until the channel is closed.
func (m *IOMMU) serve() {
	for {
		msg, err := m.read()
		if err != nil {
			return
		}
		if p, ok := vhostuser.ParseIOTLBMsg(msg.Payload); ok && msg.Request == vhostuser.BackendIOTLB {
			m.Misses.Add(1)
			m.g.Config.Translate(m, p)
		}
	}
}

func (m *IOMMU) read() (*vhostuser.Message, error) {
	var h [vhostuser.HeaderSize]byte
	if _, err := io.ReadFull(m.channel, h[:]); err != nil {
		return nil, err
	}
	msg, size, err := vhostuser.ParseHeader(&h)
	if err != nil {
		return nil, err
	}
	msg.Payload = make([]byte, size)
	_, err = io.ReadFull(m.channel, msg.Payload)
	return &msg, err
}

// Answer answers a miss: it was dealt with, or not.
func (m *IOMMU) Answer(ok bool) {
	v := uint64(1)
	if ok {
		v = 0
	}
	a := vhostuser.Message{Request: vhostuser.BackendIOTLB, Flags: vhostuser.Version | vhostuser.FlagReply, Payload: vhostuser.AppendU64(nil, v)}
	m.Write(a.AppendTo(nil))
}

// Write writes any bytes to the channel.
func (m *IOMMU) Write(b []byte) { _, _ = m.channel.Write(b) }

// Obey does what a good front end does: it translates the page, to be read and written, and says so.
func (m *IOMMU) Obey(p vhostuser.IOTLBMsg) {
	m.Answer(m.Update(p.IOVA, p.Size, vhostuser.PermRead|vhostuser.PermWrite) == nil)
}

// User is the front end's address of the guest's memory at addr.
func (m *IOMMU) User(addr uint64) uint64 { return userBase + addr }

// Update tells the back end that size bytes at iova are where the same address of the guest's memory
// is.
func (m *IOMMU) Update(iova, size uint64, perm vhostuser.Perm) error {
	return m.Send(vhostuser.IOTLBMsg{IOVA: iova, Size: size, User: userBase + iova, Perm: perm, Type: vhostuser.IOTLBUpdate})
}

// Invalidate takes that back.
func (m *IOMMU) Invalidate(iova, size uint64) error {
	return m.Send(vhostuser.IOTLBMsg{IOVA: iova, Size: size, Type: vhostuser.IOTLBInvalidate})
}

// Send sends an IOTLB message.
func (m *IOMMU) Send(p vhostuser.IOTLBMsg) error {
	if err := m.g.Set(vhostuser.IOTLBMessage, p.Append(nil)); err != nil {
		return fmt.Errorf("IOTLB type %d at %#x: %w", p.Type, p.IOVA, err)
	}
	return nil
}

func (m *IOMMU) close() {
	_ = m.channel.Close()
	m.done.Wait()
}
