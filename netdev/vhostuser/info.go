package vhostuser

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/netdev"
)

// view is what there is to tell about a peer.
type view struct {
	connected bool
	features  uint64
	protocol  uint64
	agreed    bool             // the guest has acknowledged features
	control   *virtio.Control  // what it has set by the control queue, if that is ours; never changed
	ownMAC    net.HardwareAddr // that it has set so
	sizes     []uint32         // of the vrings that have one
	mtu       uint16           // that the front end says the guest was given
	hint      string           // what may be wrong with it
}

// Info implements netdev.Device. The status keys are OVS's where OVS has them.
func (d *Device) Info() netdev.Info {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := &d.view
	s := map[string]string{
		"mode":          "client",
		"socket":        d.set.path,
		"status":        "disconnected",
		"numa":          "0",
		"num_of_vrings": strconv.Itoa(len(v.sizes)),
		"n_rxq":         strconv.Itoa(len(d.rx)),
		"n_txq":         strconv.Itoa(len(d.tx)),
		"userspace-tso": "disabled",
	}
	if d.server {
		s["mode"] = "server"
	}
	if v.connected {
		s["status"] = "connected"
		s["features"] = fmt.Sprintf("%#016x", v.features)
		s["virtio-features"] = strings.Join(virtio.FeatureNames(v.features), " ")
		s["protocol-features"] = strings.Join(vhostuser.ProtocolNames(v.protocol), " ")
	}
	d.describe(s)
	for i, n := range v.sizes {
		s[fmt.Sprintf("vring_%d_size", i)] = strconv.FormatUint(uint64(n), 10)
	}
	if v.features&(virtio.NetFHostTSO4|virtio.NetFHostTSO6) != 0 {
		s["userspace-tso"] = "enabled"
	}
	if v.mtu != 0 {
		s["guest-mtu"] = strconv.Itoa(int(v.mtu))
	}
	// Without the feature it comes and goes with postcopy, which is p.mu's business.
	if p := d.peer; p != nil && v.features&virtio.FAccessPlatform != 0 && p.iommu != nil {
		p.iommu.status(s)
	}
	if v.hint != "" {
		s["hint"] = v.hint
	}
	return netdev.Info{
		Link: d.link, MTU: d.set.mtu, MAC: d.set.mac, Driver: "vhost-user", Fault: d.fault, Status: s,
	}
}
