package veth_test

import (
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/afpacket"
	"github.com/gvswitch/gvswitch/netdev/netdevtest"
	"github.com/gvswitch/gvswitch/netdev/tap"
	"github.com/gvswitch/gvswitch/netdev/veth"
)

// What another type of port would refuse is found without an attempt, which would cost the pair.
func TestCheck(t *testing.T) {
	ns := netdevtest.Netns(t)
	netdevtest.Open(t, veth.Open, name(7), options(ns, "eth0"), &netdevtest.Host{})
	empty := netdev.Options{Map: map[string]string{}}
	for _, c := range []struct {
		check netdev.CheckFunc
		o     netdev.Options
		want  string
	}{
		{tap.Check, options(ns, "eth0"), "options:peer=eth0: not an option"},
		{tap.Check, netdev.Options{Map: map[string]string{"netns": "nosuchns"}}, "options:netns"},
		{tap.Check, empty, ""},
		{afpacket.Check, options(ns, "eth0"), "options:peer=eth0: not an option"},
		{afpacket.Check, empty, ""},
		{veth.Check, empty, "options:peer"},
		{veth.Check, options(ns, "eth0"), "options:peer=eth0: file exists"},
		{veth.Check, options(ns, "eth1"), ""},
	} {
		err := c.check(name(7), c.o)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v, want %q", c.o.Map, err, c.want)
		}
	}
}
