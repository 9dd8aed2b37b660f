package vhostuser

import (
	"errors"
	"fmt"
	"net"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/internal/unixsock"
	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/opt"
)

const (
	// defaultMTU is what a guest is told without an mtu_request, as in OVS.
	defaultMTU = 1500

	defaultRetries = 8 // as OVS's tx-retries-max
	maxRetries     = 32
)

// settings is what the options come to.
type settings struct {
	path     string
	mode     uint32 // of the socket's file, 0 = what umask leaves
	group    int    // of the socket's file, -1 = as it is
	retries  int
	pairs    int // queue pairs offered
	zeroCopy bool
	offload  bool
	add      uint64 // features, besides what is offered anyhow
	remove   uint64
	iommu    bool // the guest may have one
	postcopy bool // it may arrive before its memory
	mtu      int
	mac      net.HardwareAddr
}

// parse reads the options of the port name.
func parse(name string, server bool, o netdev.Options) (settings, error) {
	r := opt.New("port "+name, o.Map)
	s := settings{
		group:    -1,
		mtu:      defaultMTU,
		retries:  r.Int("tx-retries-max", defaultRetries, 0, maxRetries),
		pairs:    max(r.Int("vhost-max-queue-pairs", 0, 1, vhostuser.MaxQueuePairs), r.Int("n_rxq", 0, 1, vhostuser.MaxQueuePairs)),
		zeroCopy: r.Bool("dq-zero-copy", true),
		offload:  r.Bool("vhost-offload", false),
		iommu:    r.Bool("vhost-iommu-support", false),
		postcopy: r.Bool("vhost-postcopy-support", false),
	}
	if s.pairs == 0 { // docs/decisions/0005-vhost-user-offer.md
		s.pairs = 1
		if !server {
			s.pairs = maxControlledPairs
		}
	}
	var ok bool
	if s.path, ok = r.Take("vhost-server-path"); ok && s.path == "" {
		r.Refuse("vhost-server-path", "must not be empty")
	}
	if r.String("tx-steering", "thread") != "thread" {
		r.RefuseAlone("tx-steering", "only thread is possible")
	}
	s.features(r)
	s.access(r, server)
	if s.postcopy {
		if s.iommu {
			r.RefuseAlone("vhost-postcopy-support", "not together with vhost-iommu-support")
			s.postcopy = false
		} else if err := canPostcopy(); err != nil {
			r.RefuseAlone("vhost-postcopy-support", err.Error())
			s.postcopy = false
		}
	}
	if err := r.Done(); err != nil {
		return s, err
	}
	if err := s.place(name, server, o.RunDir); err != nil {
		return s, fmt.Errorf("port %s: %w", name, err)
	}
	if o.MTU != 0 {
		if o.MTU < vhostuser.MinMTU || o.MTU > vhostuser.MaxMTU {
			err := fmt.Errorf("port %s: mtu_request=%d: want %d to %d", name, o.MTU, vhostuser.MinMTU, vhostuser.MaxMTU)
			return s, &netdev.SettingError{Key: netdev.MTURequest, Err: err}
		}
		s.mtu = o.MTU
	}
	s.mac = portMAC(s.path)
	if o.MAC != "" {
		mac, err := net.ParseMAC(o.MAC)
		if err != nil || len(mac) != 6 || mac[0]&1 != 0 {
			return s, fmt.Errorf("port %s: mac=%s: not a unicast Ethernet address", name, o.MAC)
		}
		s.mac = mac
	}
	return s, nil
}

// access reads who may use the socket's file.
func (s *settings) access(r *opt.Reader, server bool) {
	mode, hasMode := r.Take("socket-mode")
	group, hasGroup := r.Take("socket-group")
	if !server {
		const why = "the guest's side makes the socket of a client port"
		if hasMode {
			r.RefuseAlone("socket-mode", why)
		}
		if hasGroup {
			r.RefuseAlone("socket-group", why)
		}
		return
	}
	if hasMode {
		n, err := strconv.ParseUint(mode, 8, 32)
		if err != nil || n == 0 || n > 0o777 {
			r.Refuse("socket-mode", "must be an octal file mode, 001 to 777")
		}
		s.mode = uint32(n)
	}
	if hasGroup {
		var err error
		if s.group, err = groupID(group); err != nil {
			r.Refuse("socket-group", err.Error())
		}
	}
}

// place finds the socket's path. A port's name is a file's name only if it cannot
// lead elsewhere.
func (s *settings) place(name string, server bool, dir string) error {
	switch {
	case s.path != "":
		if !filepath.IsAbs(s.path) {
			s.path = filepath.Join(dir, s.path)
		}
	case !server:
		return errors.New("options:vhost-server-path: missing, a client port needs the path of the guest's socket")
	case name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00"):
		return errors.New("the name cannot be a socket's; give options:vhost-server-path")
	default:
		s.path = filepath.Join(dir, name)
	}
	if strings.ContainsRune(s.path, 0) {
		return fmt.Errorf("socket path %q has a zero byte", s.path)
	}
	return unixsock.CheckPath(s.path)
}

func groupID(s string) (int, error) {
	if n, err := strconv.ParseUint(s, 10, 31); err == nil {
		return int(n), nil
	}
	g, err := user.LookupGroup(s)
	if err != nil {
		return -1, errors.New("no such group")
	}
	return strconv.Atoi(g.Gid)
}
