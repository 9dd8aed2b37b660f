package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/internal/gen"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/afpacket"
	"github.com/gvswitch/gvswitch/netdev/dummy"
	"github.com/gvswitch/gvswitch/netdev/tap"
	"github.com/gvswitch/gvswitch/netdev/veth"
	"github.com/gvswitch/gvswitch/netdev/vhostuser"
	"github.com/gvswitch/gvswitch/netdev/virtiouser"
)

// providers are the types of ports by the names that they have in the database.
var providers = map[string]netdev.OpenFunc{
	"dpdkvhostuser":       vhostuser.OpenServer,
	"dpdkvhostuserclient": vhostuser.OpenClient,
	"dummy":               dummy.Open,
	"system":              afpacket.Open,
	"tap":                 tap.Open,
	"veth":                veth.Open,
	"virtio-user":         virtiouser.Open,
}

// portSpec is a port as the command line has it.
type portSpec struct {
	text    string
	open    netdev.OpenFunc
	name    string
	virtio  bool
	options netdev.Options
}

// parsePort reads TYPE:[NAME][,OPTION=VALUE]...
func parsePort(text string, number int) (portSpec, error) {
	p := portSpec{text: text, options: netdev.Options{Map: map[string]string{}}}
	kind, rest, _ := strings.Cut(text, ":")
	if p.open = providers[kind]; p.open == nil {
		return p, fmt.Errorf("port %q: type %q is not one of %s", text, kind, strings.Join(slices.Sorted(maps.Keys(providers)), ", "))
	}
	p.virtio = kind == "virtio-user"
	first := true
	for item := range strings.SplitSeq(rest, ",") {
		key, value, isOption := strings.Cut(item, "=")
		switch {
		case isOption && key != "":
			if _, twice := p.options.Map[key]; twice {
				return p, fmt.Errorf("port %q: option %s stands there twice", text, key)
			}
			p.options.Map[key] = value
		case first:
			p.name = item
		default:
			return p, fmt.Errorf("port %q: %q is not OPTION=VALUE", text, item)
		}
		first = false
	}
	if p.name == "" {
		p.name = fmt.Sprintf("gen%d", number)
	}
	var err error
	p.options.RunDir, err = os.Getwd()
	return p, err
}

// fit takes the option mtu, and gives a virtio-user port, whose MTU is nobody else's affair, one that the longest frame fits.
func (p *portSpec) fit(longest int) error {
	if text, ok := p.options.Map["mtu"]; ok {
		n, err := strconv.Atoi(text)
		if err != nil || n < 68 || n > 65535 {
			return fmt.Errorf("port %q: mtu=%s: must be a number from 68 to 65535", p.text, text)
		}
		delete(p.options.Map, "mtu")
		p.options.MTU = n
	} else if p.virtio && longest > defaultMTU {
		p.options.MTU = longest
	}
	return nil
}

// defaultMTU is that of a virtio-user port.
const defaultMTU = 1500

// openPorts opens the ports that the arguments name, for frames whose longest has so many bytes of IP packet.
func openPorts(args []string, longest int) (*gen.Ports, []*gen.Port, error) {
	if len(args) < 1 || len(args) > 2 {
		return nil, nil, fmt.Errorf("%d ports: one or two are needed, as virtio-user:path=/run/vu0 (--help tells more)", len(args))
	}
	var specs []portSpec
	for i, text := range args {
		p, err := parsePort(text, i)
		if err == nil {
			err = p.fit(longest)
		}
		if err != nil {
			return nil, nil, err
		}
		specs = append(specs, p)
	}
	ports := new(gen.Ports)
	var all []*gen.Port
	for _, s := range specs {
		p, err := ports.Open(s.text, s.name, s.open, s.options)
		if err != nil {
			_ = ports.Close()
			return nil, nil, err
		}
		all = append(all, p)
	}
	return ports, all, nil
}
