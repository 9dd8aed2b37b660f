package dummy

import (
	"bytes"
	"fmt"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/link"
	"github.com/gvswitch/gvswitch/netdev/opt"
	"github.com/gvswitch/gvswitch/packet"
)

// settings is what the options say.
type settings struct {
	caps    netdev.TxCaps
	rxqs    int
	txqs    int
	kept    int // frames sent that are kept
	link    bool
	blocked bool
	info    netdev.Info

	pcap, txPcap, rxPcap string
}

// defaultMTU is that of Ethernet.
const defaultMTU = 1500

// parse reads the options:
//
//	csum, tso4, tso6, ecn, uso   offloads of the receiver (false)
//	max-len                      its longest frame in bytes (any)
//	link                         whether there is one (true)
//	blocked                      it has no room (false)
//	n_rxq, n_txq                 queues (1)
//	capture                      frames sent that are kept (1024)
//	ifindex                      for the record
//	pcap, tx_pcap, rxq_pcap      files for frames both ways, out, in
func parse(name string, o netdev.Options) (s settings, err error) {
	if name == "" {
		return s, fmt.Errorf("device name %q: must not be empty", name)
	}
	k, err := link.SettingsOf(name, o, true)
	if err != nil {
		return s, err
	}
	r := opt.New(name, o.Map)
	s.caps = netdev.TxCaps{
		Csum: r.Bool("csum", false), TSO4: r.Bool("tso4", false), TSO6: r.Bool("tso6", false),
		ECN: r.Bool("ecn", false), USO: r.Bool("uso", false),
		MaxLen: uint32(r.Int("max-len", 0, packet.MinFrame, packet.MaxFrame)),
	}
	s.rxqs, s.txqs = r.Int("n_rxq", 1, 1, 64), r.Int("n_txq", 1, 1, 64)
	s.kept = r.Int("capture", 1024, 0, 1<<20)
	s.link, s.blocked = r.Bool("link", true), r.Bool("blocked", false)
	s.pcap, s.txPcap, s.rxPcap = r.String("pcap", ""), r.String("tx_pcap", ""), r.String("rxq_pcap", "")
	s.info = netdev.Info{
		Link: s.link, MTU: o.MTU, MAC: k.MAC, IfIndex: r.Int("ifindex", 0, 1, 1<<31-1),
		Driver: "dummy", Duplex: "full", Status: map[string]string{"driver_name": "dummy"},
	}
	if o.MTU == 0 {
		s.info.MTU = defaultMTU
	}
	return s, r.Done()
}

// sameFixed reports whether a and b differ at most in what can change while the device
// runs: blocked, link, MTU and MAC address.
func sameFixed(a, b settings) bool {
	return a.caps == b.caps && a.rxqs == b.rxqs && a.txqs == b.txqs && a.kept == b.kept &&
		a.pcap == b.pcap && a.txPcap == b.txPcap && a.rxPcap == b.rxPcap && a.info.IfIndex == b.info.IfIndex
}

// sameInfo reports whether others see no difference.
func sameInfo(a, b settings) bool {
	return a.link == b.link && a.info.MTU == b.info.MTU && bytes.Equal(a.info.MAC, b.info.MAC)
}
