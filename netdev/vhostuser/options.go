package vhostuser

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/internal/unixsock"
	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/netdev"
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
	mtu      int
	mac      net.HardwareAddr
}

var errUnknown = errors.New("not an option of a vhost-user port")

// parse reads the options of the port name.
func parse(name string, server bool, o netdev.Options) (settings, error) {
	s := settings{group: -1, retries: defaultRetries, pairs: 1, zeroCopy: true, mtu: defaultMTU}
	for _, key := range slices.Sorted(maps.Keys(o.Map)) {
		value := o.Map[key]
		if err := s.option(key, value, server); err != nil {
			return s, fmt.Errorf("port %s: options:%s=%s: %w", name, key, value, err)
		}
	}
	if err := s.place(name, server, o.RunDir); err != nil {
		return s, fmt.Errorf("port %s: %w", name, err)
	}
	if o.MTU != 0 {
		if o.MTU < vhostuser.MinMTU || o.MTU > vhostuser.MaxMTU {
			return s, fmt.Errorf("port %s: mtu_request=%d: want %d to %d", name, o.MTU, vhostuser.MinMTU, vhostuser.MaxMTU)
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

func (s *settings) option(key, value string, server bool) (err error) {
	switch key {
	case "vhost-server-path":
		if value == "" {
			return errors.New("empty")
		}
		s.path = value
	case "socket-mode", "socket-group":
		if !server {
			return errors.New("the guest's side makes the socket of a client port")
		}
		if key == "socket-group" {
			s.group, err = groupID(value)
			return err
		}
		mode, err := strconv.ParseUint(value, 8, 32)
		if err != nil || mode == 0 || mode > 0o777 {
			return errors.New("want an octal file mode, 001 to 777")
		}
		s.mode = uint32(mode)
	case "tx-retries-max":
		s.retries, err = number(value, 0, maxRetries)
	case "vhost-max-queue-pairs", "n_rxq":
		n, err := number(value, 1, vhostuser.MaxQueuePairs)
		if err != nil {
			return err
		}
		s.pairs = max(s.pairs, n)
	case "dq-zero-copy":
		s.zeroCopy, err = boolean(value)
	case "vhost-offload":
		s.offload, err = boolean(value)
	case "tx-steering":
		if value != "thread" {
			return errors.New("only thread is possible")
		}
	default:
		return errUnknown
	}
	return err
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

func number(s string, lo, hi int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < lo || n > hi {
		return 0, fmt.Errorf("want %d to %d", lo, hi)
	}
	return n, nil
}

func boolean(s string) (bool, error) {
	switch s {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errors.New("want true or false")
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
