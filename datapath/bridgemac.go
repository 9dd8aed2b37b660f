package datapath

import (
	"fmt"
	"net"
	"slices"
	"time"
)

// macWord is a MAC as the table and the packet's first words have it: first
// byte lowest.
func macWord(m net.HardwareAddr) (w uint64) {
	for i := 5; i >= 0; i-- {
		w = w<<8 | uint64(m[i])
	}
	return w
}

func wordMAC(w uint64) net.HardwareAddr {
	m := make(net.HardwareAddr, 6)
	for i := range m {
		m[i] = byte(w >> (8 * i))
	}
	return m
}

// MACTable lists the addresses that the bridge knows, in order of VLAN and MAC.
func (b *Bridge) MACTable() []MACEntry {
	d := b.d
	d.mu.Lock()
	defer d.mu.Unlock()
	sec := uint32(d.clock.now() / 1000)
	var l []MACEntry
	for _, e := range b.table.entries() {
		p := d.port(valPort(e.val))
		if p == nil || p.br != b {
			continue // a port that is being removed
		}
		m := MACEntry{
			Port:   p,
			VLAN:   int(e.key >> vlanShift & 0xfff),
			MAC:    wordMAC(e.key & macMask),
			Static: e.val&isStatic != 0,
		}
		if !m.Static {
			m.Age = time.Duration(max(int32(sec-valSec(e.val)), 0)) * time.Second
		}
		l = append(l, m)
	}
	slices.SortFunc(l, func(x, y MACEntry) int {
		if x.VLAN != y.VLAN {
			return x.VLAN - y.VLAN
		}
		return cmpString(string(x.MAC), string(y.MAC))
	})
	return l
}

// port is the port of an id, nil if it is free.
func (d *Datapath) port(id uint16) *Port {
	if int(id) < len(d.ports) {
		return d.ports[id]
	}
	return nil
}

// AddStaticMAC binds an address to a port: it does not age and does not move. An
// entry that was there is replaced.
func (b *Bridge) AddStaticMAC(p *Port, vlan int, mac net.HardwareAddr) error {
	if len(mac) != 6 || mac[0]&1 != 0 || macWord(mac) == 0 {
		return fmt.Errorf("bridge %q: MAC %v: not the address of one host", b.name, mac)
	}
	if vlan < 0 || vlan > 4095 {
		return fmt.Errorf("bridge %q: VLAN %d: not in 0..4095", b.name, vlan)
	}
	d := b.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.gone || p.br != b {
		return fmt.Errorf("bridge %q: has no port %q", b.name, p.name)
	}
	if p.bond != nil {
		p = p.bond.members[0].p
	}
	if !b.table.setStatic(macKey(macWord(mac), uint16(vlan)), p.id, d.clock.now()) {
		return fmt.Errorf("bridge %q: the MAC table is full of static entries", b.name)
	}
	d.loss.now()
	return nil
}

// DelMAC removes an address, static or learned, and reports whether it was
// there.
func (b *Bridge) DelMAC(vlan int, mac net.HardwareAddr) bool {
	if len(mac) != 6 || vlan < 0 || vlan > 4095 {
		return false
	}
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	ok := b.table.del(macKey(macWord(mac), uint16(vlan)))
	b.d.loss.now()
	return ok
}

// FlushMACs forgets all addresses but static ones.
func (b *Bridge) FlushMACs() {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	b.table.flush()
	b.d.loss.now()
}

// MACStats counts what happened to the MAC table.
func (b *Bridge) MACStats() MACStats {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	t := b.table
	t.mu.lock()
	s := t.stats
	s.Current = uint64(t.n)
	t.mu.unlock()
	s.CacheFlushes = uint64(b.d.loss.gen.Load())
	return s
}
