package lint

import (
	"fmt"
	"strings"
	"testing"
)

// floors is the import policy of the project, the floors of ARCHITECTURE.md.
//
// "a < b" means that b may import a, and everything that a may import. Names with
// commas between them stand beside each other and never import each other. A name
// that ends in "/..." is any package below. Every package of the module has to be
// named; put a new one where it belongs.
//
// This is a statement of policy. Do not change it to make a build pass.
const floors = `
# The ground: mechanisms that know nothing of switching.
NONE < internal/version, internal/unixsock, internal/mem, internal/hdr, internal/cpu, internal/checksum, internal/lacp;
internal/unixsock < internal/jsonrpc;

# Packets and rings as plain memory. The other sides of rings and sessions are for
# tests.
internal/hdr, internal/checksum, internal/mem < packet < packet/vnet;
internal/mem < internal/virtio, internal/vhostuser, internal/pager < cmd/gvswitchd;
internal/virtio < internal/virtio/virtiotest, internal/virtio/driver;
internal/vhostuser, internal/virtio/virtiotest < internal/vhostuser/frontend;

# What the datapath looks at, and what it asks of a device.
packet < flow, netdev;

# Pure functions and tables on packets; the flow language, the tables that it fills, and what
# they are translated to.
flow < tso, conntrack, pipeline/ofp, pipeline/odp;
pipeline/ofp < pipeline/rules;
pipeline/rules, pipeline/odp < pipeline/xlate;
flow < datapath/megaflow;

# Providers and the datapath know the contract, never each other. Providers share
# what several of them need.
netdev < netdev/link, netdev/opt, netdev/ready;
packet/vnet < netdev/rawio;
netdev, netdev/link < netdev/netdevtest;
netdev, netdev/link, netdev/opt, netdev/ready, netdev/rawio, tso, internal/virtio/driver, internal/vhostuser, internal/pager, internal/cpu, internal/unixsock < netdev/...;
# A veth port is an afpacket port on a pair that it makes.
netdev, netdev/link, netdev/opt, netdev/ready, netdev/rawio < netdev/afpacket < netdev/veth;
netdev, netdev/link, netdev/opt, netdev/rawio < netdev/dummy;
netdev, tso, conntrack, pipeline/xlate, datapath/megaflow, internal/cpu, internal/lacp < datapath;
datapath, netdev/dummy < datapath/flowtest;

# The traffic generator is another user of devices, and knows neither switch nor database.
netdev, internal/cpu < internal/gen < cmd/gvsgen;
internal/version, netdev/veth, netdev/dummy, netdev/... < cmd/gvsgen;

# Configuration and control know nothing of packets.
internal/jsonrpc < config/ovsdb < config/schema, config/store, config/client, config/internal/ovstest;
config/schema < config/server;
internal/jsonrpc, internal/version < internal/control;
NONE < internal/pcapng;

# gvsctl is a client and does not know the switch, but the language of flows.
config/client, config/store, internal/control < internal/vsctl < cmd/gvsctl;
pipeline/ofp < cmd/gvsctl;

# The daemon: rows become what is desired, which is compared with what is.
NONE < internal/daemon/logging;
config/ovsdb, netdev, flow < internal/daemon/desired < internal/daemon/rowtest;
internal/daemon/desired, datapath < internal/daemon/reconcile < internal/daemon/status;
config/client, config/store, config/server, internal/control, internal/pcapng, netdev/veth, netdev/dummy, netdev/... < internal/daemon;
internal/daemon/status, internal/daemon/logging < internal/daemon < cmd/gvswitchd;

# A program that is no switch and uses a device of its own.
netdev/... < examples/...;

# The tests' tools.
NONE < internal/lint;
NONE < test/proc, test/guest/wire;
test/guest/wire < test/guest/agent;
test/proc, test/guest/wire, internal/unixsock < test/guest < test/guest/cmd/guest;
test/guest < test/peers < test/e2e;
datapath/flowtest < test/flowdiff;
internal/vhostuser/frontend, internal/virtio, internal/checksum, test/peers < bench/...;
netdev/..., packet, internal/cpu < bench/io;
`

// order is the partial order that the policy states.
type order struct {
	below map[string]map[string]bool // below[b][a]: b may import a
}

// parseFloors reads the policy. An error names the rule.
func parseFloors(text string) (*order, error) {
	o := &order{below: map[string]map[string]bool{}}
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	for rule := range strings.SplitSeq(strings.Join(lines, ""), ";") {
		rule = strings.Join(strings.Fields(rule), " ")
		if rule == "" {
			continue
		}
		floors := strings.Split(rule, " < ")
		if len(floors) < 2 {
			return nil, fmt.Errorf("rule %q: no \" < \"", rule)
		}
		for i := 1; i < len(floors); i++ {
			for b := range strings.SplitSeq(floors[i], ", ") {
				for a := range strings.SplitSeq(floors[i-1], ", ") {
					o.put(a, b)
				}
			}
		}
	}
	return o, o.close()
}

func (o *order) put(a, b string) {
	if o.below[b] == nil {
		o.below[b] = map[string]bool{}
	}
	if a != "NONE" {
		o.below[b][a] = true
	}
}

// close adds what follows: what is below something below. A cycle is an error.
func (o *order) close() error {
	for changed := true; changed; {
		changed = false
		for b, as := range o.below {
			for a := range as {
				for under := range o.below[a] {
					changed = changed || !o.below[b][under]
					o.below[b][under] = true
				}
			}
		}
	}
	for b, as := range o.below {
		if as[b] {
			return fmt.Errorf("%s stands below itself", b)
		}
		for a := range as {
			if o.below[a] == nil {
				return fmt.Errorf("%s is below %s but stands on nothing (NONE < %s?)", a, b, a)
			}
		}
	}
	return nil
}

// place is the policy's name for a package: its own, or that of a pattern.
func (o *order) place(pkg string) (string, bool) {
	if _, ok := o.below[pkg]; ok {
		return pkg, true
	}
	for name := range o.below {
		if prefix, ok := strings.CutSuffix(name, "..."); ok && strings.HasPrefix(pkg+"/", prefix) {
			return name, true
		}
	}
	return "", false
}

func TestFloors(t *testing.T) {
	o, err := parseFloors(floors)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages(t) {
		pkg := p.short()
		b, ok := o.place(pkg)
		if !ok {
			t.Errorf("%s: not in the floors of internal/lint/floors_test.go: place it", pkg)
			continue
		}
		for _, imp := range p.Imports {
			imp, ours := strings.CutPrefix(imp, modulePath+"/")
			if !ours {
				continue
			}
			a, ok := o.place(imp)
			if ok && !o.below[b][a] {
				t.Errorf("%s imports %s, which is not below it", pkg, imp)
			}
		}
	}
}

func TestParseFloorsRefuses(t *testing.T) {
	for _, text := range []string{"a b;", "a < b;", "NONE < a; a < b < a;"} {
		if _, err := parseFloors(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
	o, err := parseFloors("# c\nNONE < a;\na < b, c/... < d;")
	if err != nil {
		t.Fatal(err)
	}
	if !o.below["d"]["a"] || o.below["b"]["c/..."] || o.below["c/..."]["b"] {
		t.Errorf("wrong order %v", o.below)
	}
	if p, ok := o.place("c/x"); !ok || p != "c/..." {
		t.Errorf("c/x is placed at %q, %v", p, ok)
	}
}
