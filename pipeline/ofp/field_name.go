package ofp

import "github.com/gvswitch/gvswitch/flow"

// setName is f's name in set_field, which for two fields is not that of a match.
func setName(f *flow.Field) string {
	switch f.Name {
	case "nw_src":
		return "ip_src"
	case "nw_dst":
		return "ip_dst"
	}
	return f.Name
}

// oxmName is f's name in subfields: Open vSwitch shows the NXM name there, or the OXM name of a field
// that has no other.
func oxmName(f *flow.Field) string {
	if id := f.ID(); id < len(oxmNames) && oxmNames[id] != "" {
		return oxmNames[id]
	}
	return f.Name
}

// oxmNames has the names by flow.Field.ID.
var oxmNames = func() []string {
	names := make([]string, len(flow.Fields()))
	for _, f := range flow.Fields() {
		for _, name := range candidates(f.Name) {
			if flow.FieldByName(name) == f {
				names[f.ID()] = name
				break
			}
		}
	}
	return names
}()

// irregular are the fields whose NXM or OXM name does not follow from their name.
var irregular = map[string]string{
	"tun_src": "NXM_NX_TUN_IPV4_SRC", "tun_dst": "NXM_NX_TUN_IPV4_DST",
	"in_port_oxm": "OXM_OF_IN_PORT", "actset_output": "ONFOXM_ET_ACTSET_OUTPUT",
	"nw_src": "NXM_OF_IP_SRC", "nw_dst": "NXM_OF_IP_DST", "nw_proto": "NXM_OF_IP_PROTO",
	"nw_tos": "NXM_OF_IP_TOS", "nw_ecn": "NXM_NX_IP_ECN", "nw_ttl": "NXM_NX_IP_TTL",
	"nd_reserved": "ERICOXM_OF_ICMPV6_ND_RESERVED", "nd_options_type": "ERICOXM_OF_ICMPV6_ND_OPTIONS_TYPE",
}

// candidates are the names that the field called name may have.
func candidates(name string) []string {
	if s := irregular[name]; s != "" {
		return []string{s}
	}
	if len(name) > 4 && name[:4] == "xreg" {
		return []string{"OXM_OF_PKT_REG" + name[4:]}
	}
	up := []byte(name)
	for i, c := range up {
		if 'a' <= c && c <= 'z' {
			up[i] = c - 'a' + 'A'
		}
	}
	return []string{"NXM_OF_" + string(up), "NXM_NX_" + string(up), "OXM_OF_" + string(up)}
}
