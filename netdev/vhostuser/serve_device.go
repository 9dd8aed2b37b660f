package vhostuser

import (
	"context"
	"log/slog"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
)

// The parts of vhostuser.Device that have nothing to do with rings. p.mu is held.

// Map implements vhostuser.Device.
func (p *peer) Map(regions []vhostuser.Region) error {
	err := p.memory.Map(regions)
	p.d.memory.Store(p.memory.Guest())
	return err
}

// Unmap implements vhostuser.Device.
func (p *peer) Unmap(regions []vhostuser.Region) {
	p.d.memory.Store(nil) // the addresses may be somebody else's in a moment
	p.memory.Unmap(regions)
	p.d.memory.Store(p.memory.Guest())
	if p.postcopy != nil {
		p.postcopy.forget(regions)
	}
	p.flush()
}

// Redirect implements vhostuser.Device: whoever writes to old writes to the
// replacement from now on. A call may have gone to the old one a moment ago, and the guest
// may have looked before, so it gets one more.
func (p *peer) Redirect(old, replacement int) {
	_ = unix.SetNonblock(replacement, true)
	_ = unix.Dup3(replacement, old, unix.O_CLOEXEC)
	_ = unix.Close(replacement)
	notify(old)
}

// Channel implements vhostuser.Device.
func (p *peer) Channel(fd int) {
	if p.channel >= 0 {
		_ = unix.Close(p.channel)
	}
	p.channel = fd
	if p.iommu != nil {
		p.iommu.asking = asking{}
		p.iommu.poke()
	}
}

// Config implements vhostuser.Device.
func (p *peer) Config() []byte {
	status := uint16(linkUp)
	if p.announcing {
		status |= announce
	}
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	mac := p.d.set.mac
	if p.ownMAC != nil {
		mac = p.ownMAC
	}
	return configSpace(mac, status, p.pin.Pairs, p.d.set.mtu)
}

// SetMTU implements vhostuser.Device.
func (p *peer) SetMTU(mtu uint16) {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	p.d.view.mtu = mtu
}

// SendRARP implements vhostuser.Device.
func (p *peer) SendRARP(mac [6]byte) {
	if mac[0]&1 != 0 || mac == [6]byte{} || p.dead.Load() {
		return
	}
	p.d.host.Inject(p.d, rarp(mac))
}

// Close implements vhostuser.Device.
func (p *peer) Close(fd int) { _ = unix.Close(fd) }

// Note implements vhostuser.Device. A guest can be wrong very often.
func (p *peer) Note(err error) { p.d.warn("guest's message not obeyed", err) }

// warn and info log what a guest causes, in moderation.
func (d *Device) warn(what string, err error) { d.say(slog.LevelWarn, what, "error", err) }

func (d *Device) info(what string, args ...any) { d.say(slog.LevelInfo, what, args...) }

func (d *Device) say(level slog.Level, what string, args ...any) {
	d.mu.Lock()
	ok, skipped := d.said[level].allow()
	d.mu.Unlock()
	if !ok {
		return
	}
	if skipped > 0 {
		args = append(args, "lines_not_logged", skipped)
	}
	d.log.Log(context.Background(), level, what, args...)
}

// rarp is the broadcast by which switches learn that mac is here now (RFC 903: a
// reverse request, which nobody answers).
func rarp(mac [6]byte) []byte {
	f := make([]byte, 60)
	copy(f, "\xff\xff\xff\xff\xff\xff")
	copy(f[6:], mac[:])
	copy(f[12:], "\x80\x35\x00\x01\x08\x00\x06\x04\x00\x03")
	copy(f[22:], mac[:])
	copy(f[32:], mac[:])
	return f
}
