package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/test/guest"
	"github.com/gvswitch/gvswitch/test/peers"
)

// station is a host with addresses on the bridge under test.
type station struct {
	name    string
	host    peers.Host
	ip, ip6 string
}

// addrs are the addresses of station number n, with their prefixes.
func addrs(n int) (ip, ip6 string) {
	return fmt.Sprintf("10.9.0.%d/24", n), fmt.Sprintf("fd09::%d/64", n)
}

func newStation(name string, n int, h peers.Host) station {
	return station{name, h, fmt.Sprintf("10.9.0.%d", n), fmt.Sprintf("fd09::%d", n)}
}

// bootGuest boots guest number n.
func bootGuest(t *testing.T, name string, n int, c guest.Config) station {
	t.Helper()
	c.Name, c.MAC = name, fmt.Sprintf("02:00:00:00:00:%02x", n)
	c.IP, c.IP6 = addrs(n)
	return newStation(name, n, guest.Boot(t, c))
}

// addNamespace adds namespace number n behind a veth port.
func addNamespace(s *Switch, port string, n int) station {
	s.t.Helper()
	ip, ip6 := addrs(n)
	return newStation(port, n, s.AddNetns(port, ip, ip6))
}

// pingTime is what the first ping, with its ARP, may take on a machine that is busy.
const pingTime = 45 * time.Second

// pingAll has each station ping each other, both families.
func pingAll(t *testing.T, stations ...station) {
	t.Helper()
	for _, from := range stations {
		for _, to := range stations {
			if from == to {
				continue
			}
			for _, addr := range []string{to.ip, to.ip6} {
				if err := peers.Ping(context.Background(), from.host, addr, pingTime); err != nil {
					t.Errorf("%s to %s: %v", from.name, to.name, err)
				}
			}
		}
	}
}

// mustNotPing fails when to answers from.
func mustNotPing(t *testing.T, from, to station) {
	t.Helper()
	if peers.Ping(context.Background(), from.host, to.ip, 2*time.Second) == nil {
		t.Errorf("%s reaches %s, which is on another VLAN", from.name, to.name)
	}
}

// minMbps is what every TCP transfer must reach: a tenth of what the slowest kind
// of guest does, and a hundred times what is left when only retransmissions of
// small segments get through.
const minMbps = 10

// transfer runs TCP from one station to the other.
func transfer(t *testing.T, from, to station, addr string) {
	t.Helper()
	r, err := peers.Iperf(context.Background(), from.host, to.host, addr, time.Second)
	if err != nil {
		t.Errorf("%s to %s: %v", from.name, to.name, err)
		return
	}
	t.Logf("%s to %s (%s): %.0f Mbit/s, %d retransmissions", from.name, to.name, addr, r.Mbps, r.Retransmits)
	if r.Mbps < minMbps {
		t.Errorf("%s to %s (%s): %.1f Mbit/s, less than %d", from.name, to.name, addr, r.Mbps, minMbps)
	}
}
