package odp

import "github.com/gvswitch/gvswitch/flow"

// Names knows the names of datapath ports. A nil Names knows none.
type Names interface {
	// PortName is a port's name, "" if there is none or numbers are to be shown.
	PortName(id uint32) string
}

// AppendActions appends the text of a list as ovs-appctl dpctl/dump-flows prints it. k is a key that
// the list is for: what a word means, IPv4 or ARP, depends on it.
func AppendActions(b []byte, list []Action, k *flow.Key, n Names) []byte { return b }

// AppendMegaflow appends a megaflow's match: recirc_id(0),in_port(1),eth_type(0x0800),ipv4(dst=10.0.0.0/8,frag=no).
func AppendMegaflow(b []byte, m *flow.Match, n Names) []byte { return b }
