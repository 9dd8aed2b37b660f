package virtiouser

import (
	"strings"

	"github.com/gvswitch/gvswitch/internal/virtio"
)

// Offloads is the work that a port wants to leave to the back end or take from it.
type Offloads struct {
	Csum   bool // frames with partial checksums, both ways
	TSO    bool // sends TCP frames that are still to be cut
	LRO    bool // receives them
	Strip  bool // takes the outer VLAN tag off received frames
	Insert bool // puts one on sent frames
}

const (
	csumFeatures = virtio.NetFCsum | virtio.NetFGuestCsum
	tsoFeatures  = virtio.NetFHostTSO4 | virtio.NetFHostTSO6 | virtio.NetFHostECN | virtio.NetFHostUSO
	lroFeatures  = virtio.NetFGuestTSO4 | virtio.NetFGuestTSO6 | virtio.NetFGuestECN | virtio.NetFGuestUSO4 | virtio.NetFGuestUSO6

	txOffloadFeatures = virtio.NetFCsum | tsoFeatures
	rxOffloadFeatures = virtio.NetFGuestCsum | lroFeatures
)

// choose picks, of the features that are offered, those that the settings ask for. An
// offload's are only among them if the port asks for it: without any, neither side looks at
// headers. config says that the back end has a configuration space to read.
func choose(offered uint64, s *settings, config bool) uint64 {
	want := virtio.FVersion1 | virtio.FAnyLayout | virtio.FEventIdx | virtio.FProtocolFeatures
	add := func(on bool, f uint64) {
		if on {
			want |= f
		}
	}
	add(s.packed && offered&virtio.FVersion1 != 0, virtio.FRingPacked)
	add(s.order, virtio.FInOrder)
	add(s.merge, virtio.NetFMrgRxbuf)
	add(s.layout == indirect, virtio.FIndirectDesc)
	add(s.queues > 1, virtio.NetFMQ)
	// Without NetFStatus the link is up by definition (virtio 1.2, section 5.1.4). Who negotiates it has to follow
	// changes, and there is no channel by which a back end could tell of them.
	add(config, virtio.NetFMTU|virtio.NetFMAC)
	o := s.offloads
	add(o.Csum, csumFeatures)
	add(o.TSO, virtio.NetFCsum|tsoFeatures)
	add(o.LRO, virtio.NetFGuestCsum|lroFeatures)
	f := offered & want
	// What builds on something that is not there.
	if f&virtio.NetFCsum == 0 {
		f &^= tsoFeatures
	}
	if f&virtio.NetFGuestCsum == 0 {
		f &^= lroFeatures
	}
	if f&(virtio.NetFHostTSO4|virtio.NetFHostTSO6) == 0 {
		f &^= virtio.NetFHostECN
	}
	if f&(virtio.NetFGuestTSO4|virtio.NetFGuestTSO6) == 0 {
		f &^= virtio.NetFGuestECN
	}
	return f
}

// Paths names how frames are received and sent, in DPDK's words.
type Paths struct{ Rx, Tx string }

// The paths' words. A simple path touches no headers; DPDK calls what it does on packed rings, and in
// newer versions on split ones, vectorized.
const (
	pathPacked    = "packed ring "
	pathOrder     = "inorder"
	pathMergeable = "mergeable buffer"
	pathStandard  = "standard"
	pathSimple    = "simple"
)

// Select says which paths a queue pair takes that negotiated features, and of which
// offloads are asked. What the back end has to grant counts only if it was negotiated. LRO and VLAN strip
// need a look at each received frame, and so rule the simple receive path out, as mergeable buffers do;
// a transmit offload or VLAN insertion rules out the simple transmit path, as does a header that
// does not lie directly before its frame.
func Select(features uint64, o Offloads, l layout) Paths {
	has := func(f uint64) bool { return features&f != 0 }
	var p Paths
	prefix := ""
	if has(virtio.FRingPacked) {
		prefix = pathPacked
	}
	simpleRx := !has(virtio.NetFMrgRxbuf|rxOffloadFeatures) && !o.Strip
	simpleTx := !has(txOffloadFeatures) && !o.Insert && arrange(features, l) == together
	var rx, tx []string
	if has(virtio.FInOrder) {
		rx, tx = append(rx, pathOrder), append(tx, pathOrder)
	}
	switch {
	case has(virtio.NetFMrgRxbuf):
		rx = append(rx, pathMergeable)
	case simpleRx:
		rx = append(rx, pathSimple)
	default:
		rx = append(rx, pathStandard)
	}
	if simpleTx {
		tx = append(tx, pathSimple)
	} else {
		tx = append(tx, pathStandard)
	}
	p.Rx, p.Tx = prefix+strings.Join(rx, " "), prefix+strings.Join(tx, " ")
	return p
}

// arrange is how sent frames are really laid out: what was asked for, as far as the back end
// can read it.
func arrange(features uint64, l layout) layout {
	switch {
	case l == indirect && features&virtio.FIndirectDesc != 0:
		return indirect
	case l == apart || features&(virtio.FVersion1|virtio.FAnyLayout) == 0:
		return apart
	}
	return together
}

// simple tells whether a path is a simple one.
func simple(path string) bool { return strings.HasSuffix(path, pathSimple) }

// capabilities lists the offloads that are possible with features, in DPDK's words.
func capabilities(features uint64) (rx, tx string) {
	return offloadNames(features, Offloads{Csum: true, TSO: true, LRO: true, Strip: true, Insert: true})
}

// offloadNames lists those of the offloads that features allow.
func offloadNames(features uint64, o Offloads) (rx, tx string) {
	var r, t []string
	if o.Strip {
		r = append(r, "VLAN_STRIP")
	}
	if o.Insert {
		t = append(t, "VLAN_INSERT")
	}
	if features&virtio.NetFGuestCsum != 0 {
		if o.Csum || o.LRO {
			r = append(r, "UDP_CKSUM", "TCP_CKSUM")
		}
		if o.LRO && features&(virtio.NetFGuestTSO4|virtio.NetFGuestTSO6) != 0 {
			r = append(r, "TCP_LRO")
		}
	}
	if features&virtio.NetFCsum != 0 {
		if o.Csum || o.TSO {
			t = append(t, "UDP_CKSUM", "TCP_CKSUM")
		}
		if o.TSO && features&(virtio.NetFHostTSO4|virtio.NetFHostTSO6) != 0 {
			t = append(t, "TCP_TSO")
		}
	}
	t = append(t, "MULTI_SEGS")
	return strings.Join(r, " "), strings.Join(t, " ")
}
