package virtio

import "encoding/binary"

// What a driver says by its control queue (virtio 1.2, section 5.1.6.5): a class, a
// command of that class, and data. The device answers with one byte.
const (
	CtrlOK  = 0
	CtrlErr = 1

	ctrlRx       = 0
	ctrlMAC      = 1
	ctrlVLAN     = 2
	ctrlAnnounce = 3
	ctrlMQ       = 4
	ctrlOffloads = 5

	ctrlRxPromisc  = 0
	ctrlRxAllMulti = 1
	ctrlRxAllUni   = 2
	ctrlRxNoMulti  = 3
	ctrlRxNoUni    = 4
	ctrlRxNoBcast  = 5

	ctrlMACTable = 0
	ctrlMACAddr  = 1

	ctrlVLANAdd = 0
	ctrlVLANDel = 1
)

// MaxCtrlCommand is the longest command in bytes that is looked at: a table of 4096
// addresses.
const MaxCtrlCommand = 2 + 4 + 4 + 6*4096

// maxMACs is how many addresses of a driver's table are kept. A driver that has more
// gets all frames of that kind.
const maxMACs = 64

// GuestOffloads are the features that a driver may give up and take again while it
// runs (virtio 1.2, section 5.1.6.5.6.1).
const GuestOffloads = NetFGuestCsum | NetFGuestTSO4 | NetFGuestTSO6 | NetFGuestECN | NetFGuestUFO | NetFGuestUSO4 | NetFGuestUSO6

// Change says what a command changed.
type Change uint8

// What a command can change.
const (
	ChangedFilter   Change = 1 << iota // Control.Want
	ChangedMAC                         // Control.Want.Own
	ChangedPairs                       // Control.Pairs
	ChangedOffloads                    // Control.Offloads
	Announced                          // nothing here: the driver has announced itself, as it was asked to
)

// Control is what a driver has set by its control queue. It is a value: what its
// slices refer to is never changed.
type Control struct {
	Features uint64 // acknowledged
	MaxPairs int    // that the driver may ask for
	Pairs    int    // queue pairs in use
	Offloads uint64 // of GuestOffloads, what the driver takes now
	Want     RxFilter
}

// NewControl is the state after a reset: one pair, all offloads that were negotiated,
// and no filter. Own is the address in the configuration space, zero if the driver has not got it.
func NewControl(features uint64, maxPairs int, own [6]byte) Control {
	return Control{Features: features, MaxPairs: maxPairs, Pairs: 1, Offloads: features & GuestOffloads, Want: RxFilter{Own: macKey(own[:])}}
}

// Do obeys a command. When it is refused, which the driver has to be told by CtrlErr, next is c.
func (c Control) Do(cmd []byte) (next Control, what Change, ok bool) {
	next = c
	if len(cmd) < 2 || len(cmd) > MaxCtrlCommand {
		return c, 0, false
	}
	class, command, data := cmd[0], cmd[1], cmd[2:]
	switch class {
	case ctrlRx:
		what, ok = next.rxMode(command, data)
	case ctrlMAC:
		what, ok = next.mac(command, data)
	case ctrlVLAN:
		what, ok = next.vlan(command, data)
	case ctrlAnnounce:
		what, ok = Announced, command == 0 && c.has(NetFGuestAnnounce)
	case ctrlMQ:
		what, ok = next.pairs(command, data)
	case ctrlOffloads:
		what, ok = next.offloads(command, data)
	}
	if !ok {
		return c, 0, false
	}
	return next, what, true
}

func (c *Control) has(feature uint64) bool { return c.Features&feature != 0 }

func (c *Control) rxMode(command byte, data []byte) (Change, bool) {
	need := NetFCtrlRx
	if command >= ctrlRxAllUni {
		need = NetFCtrlRxExtra
	}
	if len(data) != 1 || data[0] > 1 || !c.has(need) {
		return 0, false
	}
	f, on := &c.Want, data[0] == 1
	switch command {
	case ctrlRxPromisc:
		f.Promisc = on
	case ctrlRxAllMulti:
		f.AllMulti = on
	case ctrlRxAllUni:
		f.AllUni = on
	case ctrlRxNoMulti:
		f.NoMulti = on
	case ctrlRxNoUni:
		f.NoUni = on
	case ctrlRxNoBcast:
		f.NoBcast = on
	default:
		return 0, false
	}
	f.ByAddr = true
	return ChangedFilter, true
}

func (c *Control) mac(command byte, data []byte) (Change, bool) {
	switch {
	case command == ctrlMACAddr && c.has(NetFCtrlMACAddr) && len(data) == 6 && data[0]&1 == 0:
		c.Want.Own = macKey(data)
		return ChangedFilter | ChangedMAC, true
	case command == ctrlMACTable && c.has(NetFCtrlRx):
		uni, data, ok1 := macTable(data)
		multi, data, ok2 := macTable(data)
		if !ok1 || !ok2 || len(data) != 0 {
			return 0, false
		}
		f := &c.Want
		f.MACs = nil
		if f.MoreUni = len(uni) > 6*maxMACs; !f.MoreUni {
			f.MACs = appendMACs(f.MACs, uni)
		}
		if f.MoreMulti = len(multi) > 6*maxMACs; !f.MoreMulti {
			f.MACs = appendMACs(f.MACs, multi)
		}
		f.ByAddr = true
		return ChangedFilter, true
	}
	return 0, false
}

// macTable cuts a table off b: its number of entries and the entries.
func macTable(b []byte) (entries, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := uint64(binary.LittleEndian.Uint32(b))
	if b = b[4:]; 6*n > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:6*n], b[6*n:], true
}

func appendMACs(list []uint64, entries []byte) []uint64 {
	for ; len(entries) > 0; entries = entries[6:] {
		list = append(list, macKey(entries))
	}
	return list
}

func (c *Control) vlan(command byte, data []byte) (Change, bool) {
	if len(data) != 2 || !c.has(NetFCtrlVLAN) {
		return 0, false
	}
	id := binary.LittleEndian.Uint16(data)
	if id >= 64*64 {
		return 0, false
	}
	f := &c.Want
	switch command {
	case ctrlVLANAdd:
		f.VLANs[id/64] |= 1 << (id % 64)
	case ctrlVLANDel:
		f.VLANs[id/64] &^= 1 << (id % 64)
	default:
		return 0, false
	}
	f.ByVLAN = true
	return ChangedFilter, true
}

func (c *Control) pairs(command byte, data []byte) (Change, bool) {
	if command != 0 || len(data) != 2 || !c.has(NetFMQ) {
		return 0, false
	}
	n := int(binary.LittleEndian.Uint16(data))
	if n < 1 || n > c.MaxPairs {
		return 0, false
	}
	c.Pairs = n
	return ChangedPairs, true
}

func (c *Control) offloads(command byte, data []byte) (Change, bool) {
	if command != 0 || len(data) != 8 || !c.has(NetFGuestOffloads) {
		return 0, false
	}
	f := binary.LittleEndian.Uint64(data)
	if f&^(c.Features&GuestOffloads) != 0 {
		return 0, false
	}
	c.Offloads = f
	return ChangedOffloads, true
}
