package vhostuser

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/virtio"
)

// Announce implements netdev.Announcer. A guest that can announces all its addresses itself (virtio
// 1.2, section 5.1.6.5.4); for another whose MAC address is known the switch announces that.
func (d *Device) Announce() error {
	d.mu.Lock()
	p := d.peer
	d.mu.Unlock()
	if p == nil {
		return errors.New("no guest is connected")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.session
	if s.ControlRan && s.Features&virtio.NetFGuestAnnounce != 0 && s.Features&virtio.NetFStatus != 0 && p.hears() {
		p.announcing = true
		p.configChanged()
		return nil
	}
	if mac, ok := p.control.Want.OwnMAC(); s.ControlRan && ok {
		p.SendRARP(mac)
		return nil
	}
	return errors.New("the guest has not told its MAC address to the switch, and cannot be asked to announce itself")
}

// hears tells whether the front end can be told that the configuration space changed. p.mu is held.
func (p *peer) hears() bool {
	return p.channel >= 0 && p.session.Protocol&vhostuser.ProtoConfig != 0
}

// configChanged tells the front end so. One that does not listen is not waited for. p.mu is held.
func (p *peer) configChanged() {
	if !p.hears() {
		return
	}
	m := vhostuser.Message{Request: vhostuser.ConfigChange, Flags: vhostuser.Version}
	_ = unix.Sendto(p.channel, m.AppendTo(nil), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, nil)
}
