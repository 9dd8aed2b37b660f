package guest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gvswitch/gvswitch/internal/unixsock"
)

// Kind is the machine that a guest runs on.
type Kind string

// The kinds of guest.
const (
	UML  Kind = "uml"
	QEMU Kind = "qemu"
)

// Config says what to boot. Name, Kind and Socket are required.
type Config struct {
	Name   string // also the host name; must be a single short word
	Kind   Kind
	Socket string // the vhost-user socket

	// Listen makes the guest the server of the socket, for a switch that
	// connects (dpdkvhostuserclient). The guest boots once the switch has
	// connected. QEMU only.
	Listen bool

	IP, IP6 string // address/prefix of eth0; none when empty
	MAC     string // of eth0; the device's own when empty
	MTU     int    // of eth0; the device's own when 0
	VLAN    int    // the addresses go on eth0.VLAN, tagged, when not 0
	Memory  int    // MB; 128 when 0

	// The rest is for QEMU only.

	Queues    int           // queue pairs, and vCPUs; 1 when 0
	QueueSize int           // entries of each ring; QEMU's own default when 0
	Reconnect time.Duration // as client, connect again after this time; whole seconds
	NoMrg     bool          // do not let the guest have mergeable rx buffers
	Device    string        // more virtio-net-pci properties: "csum=off,..."
	Migrates  bool          // it can be given to Migrate
	Postcopy  bool          // Migrate lets it run before its memory is there
	incoming  string        // where QEMU waits for a guest that migrates
	IOMMU     bool          // the card's addresses go through an IOMMU, which the kernel uses

	// BootTime is how long Start waits for the guest; 90 s when 0.
	BootTime time.Duration
}

// memoryMB is enough for both kinds; UML dies with 64.
const memoryMB = 128

// complete checks the configuration and fills in the defaults.
func (c *Config) complete() error {
	if c.Name == "" || strings.ContainsAny(c.Name, "/ ,=:") {
		return fmt.Errorf("guest name %q: want a single word", c.Name)
	}
	abs, err := filepath.Abs(c.Socket)
	switch {
	case c.Socket == "":
		return fmt.Errorf("guest %s: no socket", c.Name)
	case err != nil:
		return fmt.Errorf("guest %s: %w", c.Name, err)
	case len(abs) > unixsock.MaxPath:
		return fmt.Errorf("guest %s: socket path %q: longer than %d bytes", c.Name, abs, unixsock.MaxPath)
	}
	c.Socket = abs
	c.Memory = defaulted(c.Memory, memoryMB)
	c.Queues = defaulted(c.Queues, 1)
	if c.BootTime == 0 {
		c.BootTime = 90 * time.Second
	}
	switch c.Kind {
	case QEMU:
		return nil
	case UML:
		return c.completeUML()
	default:
		return fmt.Errorf("guest %s: kind %q: want uml or qemu", c.Name, c.Kind)
	}
}

func (c *Config) completeUML() error {
	switch {
	case c.Listen:
		return errors.New("guest " + c.Name + ": UML cannot listen for the switch")
	case c.Queues > 1 || c.QueueSize != 0 || c.Reconnect != 0 || c.NoMrg || c.Device != "" || c.Migrates || c.IOMMU:
		return errors.New("guest " + c.Name + ": UML takes what the switch offers; use QEMU for device settings")
	case strings.Contains(c.Socket, ":"):
		return errors.New("guest " + c.Name + ": UML cannot have ':' in a socket path")
	}
	return nil
}

// params are the settings of the agent, as words of the kernel command line.
func (c *Config) params() []string {
	words := []string{"guest.hostname=" + c.Name}
	add := func(key string, value any) {
		if s := fmt.Sprint(value); s != "" && s != "0" {
			words = append(words, "guest."+key+"="+s)
		}
	}
	add("ip", c.IP)
	add("ip6", c.IP6)
	add("mac", c.MAC)
	add("mtu", c.MTU)
	add("vlan", c.VLAN)
	add("queues", c.Queues)
	return words
}

func defaulted(v, def int) int {
	if v == 0 {
		return def
	}
	return v
}

// CacheDir is where kernels and images are kept between runs:
// $GVSWITCH_TEST_CACHE, or /var/cache/gvswitch-test.
func CacheDir() string {
	if d := os.Getenv("GVSWITCH_TEST_CACHE"); d != "" {
		return d
	}
	return "/var/cache/gvswitch-test"
}
