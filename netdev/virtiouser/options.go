package virtiouser

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/bits"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/gvswitch/gvswitch/internal/unixsock"
	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/opt"
	"github.com/gvswitch/gvswitch/packet"
)

const (
	defaultMTU     = 1500
	defaultSize    = 256 // of a ring, as DPDK's
	minSize        = 4
	defaultRetries = 8
	maxRetries     = 32
)

// settings is what the options come to.
type settings struct {
	path     string
	server   bool
	queues   int // queue pairs wanted
	size     int // entries of each ring
	packed   bool
	merge    bool
	order    bool
	layout   layout
	offloads Offloads
	insert   int // VLAN that frames to be sent get, -1 = none
	retries  int
	burst    int // frames of a Recv
	mtu      int
	mac      net.HardwareAddr
	ownMAC   bool // mac was asked for
}

// layout is how a frame to be sent lies in descriptors.
type layout uint8

const (
	together layout = iota // header and data in one descriptor
	apart                  // header in a descriptor of its own
	indirect               // header and data in a table of descriptors
)

// parse reads the options of the port name.
func parse(name string, o netdev.Options) (settings, error) {
	r := opt.New("port "+name, o.Map)
	s := settings{
		server:  r.Bool("server", false),
		queues:  r.Int("queues", 1, 1, vhostuser.MaxQueuePairs),
		size:    r.Int("queue_size", defaultSize, minSize, virtio.MaxQueueSize),
		packed:  r.Bool("packed", false),
		merge:   r.Bool("mrg_rxbuf", true),
		order:   r.Bool("in_order", true),
		retries: r.Int("tx-retries-max", defaultRetries, 0, maxRetries),
		burst:   r.Int("rx-burst", packet.MaxBurst, 1, packet.MaxBurst),
		insert:  r.Int("vlan-insert", -1, 0, 4094),
		mtu:     defaultMTU,
	}
	if bits.OnesCount(uint(s.size)) != 1 {
		r.RefuseAlone("queue_size", "must be a power of two")
	}
	any := r.Bool("any_layout", true)
	switch {
	case r.Bool("indirect", false):
		s.layout = indirect
	case !any:
		s.layout = apart
	}
	s.offloads = Offloads{
		Csum: r.Bool("csum", false), TSO: r.Bool("tso", false), LRO: r.Bool("lro", false),
		Strip: r.Bool("vlan-strip", false), Insert: s.insert >= 0,
	}
	s.path, _ = r.Take("path")
	if mac, ok := r.Take("mac"); ok && o.MAC == "" {
		o.MAC = mac
	}
	if err := r.Done(); err != nil {
		return s, err
	}
	if err := s.place(o.RunDir); err != nil {
		return s, fmt.Errorf("port %s: %w", name, err)
	}
	if o.MTU != 0 {
		if o.MTU < vhostuser.MinMTU || o.MTU > vhostuser.MaxMTU {
			err := fmt.Errorf("port %s: mtu_request=%d: want %d to %d", name, o.MTU, vhostuser.MinMTU, vhostuser.MaxMTU)
			return s, &netdev.SettingError{Key: netdev.MTURequest, Err: err}
		}
		s.mtu = o.MTU
	}
	s.mac = portMAC(name, s.path)
	if o.MAC != "" {
		mac, err := net.ParseMAC(o.MAC)
		if err != nil || len(mac) != 6 || mac[0]&1 != 0 {
			return s, fmt.Errorf("port %s: mac=%s: not a unicast Ethernet address", name, o.MAC)
		}
		s.mac, s.ownMAC = mac, true
	}
	return s, nil
}

// place finds the socket's path.
func (s *settings) place(dir string) error {
	if s.path == "" {
		return errors.New("options:path: missing, the port needs the path of the vhost-user socket")
	}
	if strings.ContainsRune(s.path, 0) {
		return fmt.Errorf("options:path=%q: has a zero byte", s.path)
	}
	if !filepath.IsAbs(s.path) {
		s.path = filepath.Join(dir, s.path)
	}
	return unixsock.CheckPath(s.path)
}

// portMAC is the address of a card for which none is configured: always the same for the same
// name and socket on the same machine, and locally administered.
func portMAC(name, path string) net.HardwareAddr {
	machine, err := os.ReadFile("/etc/machine-id")
	if err != nil {
		host, _ := os.Hostname()
		machine = []byte(host)
	}
	sum := sha256.Sum256(append(append([]byte("gvswitch virtio-user\x00"), machine...), name+"\x00"+path...))
	mac := net.HardwareAddr(sum[:6])
	mac[0] = mac[0]&^1 | 2
	return mac
}
