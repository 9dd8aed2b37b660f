package virtiouser

import (
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/netdev"
)

// view is what there is to tell about a back end.
type view struct {
	connected bool
	link      bool
	offered   uint64
	features  uint64
	protocol  uint64
	offloads  Offloads
	layout    layout
	paths     Paths
	size      int
	mac       net.HardwareAddr // the back end's idea, nil if none
	mtu       int              // likewise, 0
}

// configure exchanges what else there is to agree on.
func (s *session) configure(set *settings, v *view) error {
	if s.features&(virtio.NetFMAC|virtio.NetFMTU) != 0 {
		const size = 12
		p, err := s.conn.get(vhostuser.GetConfig, vhostuser.ConfigSpace{Data: make([]byte, size)}.Append(nil))
		if err != nil {
			return err
		}
		if len(p) == 12+size {
			c := p[12:]
			if s.features&virtio.NetFMAC != 0 && c[0]&1 == 0 && [6]byte(c) != [6]byte{} {
				v.mac = slices.Clone(net.HardwareAddr(c[:6]))
			}
			if s.features&virtio.NetFMTU != 0 {
				v.mtu = int(binary.LittleEndian.Uint16(c[10:]))
			}
		}
	}
	if s.protocol&vhostuser.ProtoMTU != 0 {
		return s.conn.setNumber(vhostuser.NetSetMTU, uint64(set.mtu))
	}
	return nil
}

// logStart tells what a start came to.
func (d *Device) logStart(v *view, queues int) {
	rxCan, txCan := capabilities(v.offered)
	rx, tx := offloadNames(v.features, v.offloads)
	d.log.Info("virtio: capabilities", "rx", rxCan, "tx", txCan)
	d.log.Info("virtio: configuration", "rx", rx, "tx", tx, "queues", queues, "queue_size", v.size,
		"features", strings.Join(virtio.FeatureNames(v.features), " "))
	d.log.Info(fmt.Sprintf("virtio: using %s Rx path on port %s", v.paths.Rx, d.name))
	d.log.Info(fmt.Sprintf("virtio: using %s Tx path on port %s", v.paths.Tx, d.name))
}

// Info implements netdev.Device.
func (d *Device) Info() netdev.Info {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := &d.view
	s := map[string]string{
		"mode":   "client",
		"socket": d.set.path,
		"status": "disconnected",
		"n_rxq":  strconv.Itoa(len(d.rx)),
		"n_txq":  strconv.Itoa(len(d.tx)),
	}
	if d.set.server {
		s["mode"] = "server"
	}
	mac := d.set.mac
	if v.connected {
		s["status"] = "connected"
		s["features"] = fmt.Sprintf("%#016x", v.features)
		s["virtio-features"] = strings.Join(virtio.FeatureNames(v.features), " ")
		s["virtio-features-offered"] = strings.Join(virtio.FeatureNames(v.offered), " ")
		s["protocol-features"] = strings.Join(vhostuser.ProtocolNames(v.protocol), " ")
		s["queue-size"] = strconv.Itoa(v.size)
		s["rx-path"], s["tx-path"] = v.paths.Rx, v.paths.Tx
		s["rx-offload-capabilities"], s["tx-offload-capabilities"] = capabilities(v.offered)
		s["rx-offloads"], s["tx-offloads"] = offloadNames(v.features, v.offloads)
		if v.mtu != 0 {
			s["backend-mtu"] = strconv.Itoa(v.mtu)
		}
		if v.mac != nil && !d.set.ownMAC {
			mac = v.mac
		}
	}
	return netdev.Info{Link: v.link, MTU: d.set.mtu, MAC: mac, Driver: "virtio-user", Fault: d.fault, Missed: d.missed.Load(), Status: s}
}
