package desired

import "strconv"

// vhostOptions are the keys of the root's other_config that Open vSwitch has for all vhost-user
// ports; here each port has them as an option, too.
var vhostOptions = []string{"vhost-iommu-support", "vhost-postcopy-support"}

// readVhost takes the defaults for options of vhost-user ports.
func readVhost(other *options) map[string]string {
	m := map[string]string{}
	for _, key := range vhostOptions {
		if _, set := other.m[key]; set {
			m[key] = strconv.FormatBool(other.boolean(key, false))
		}
	}
	return m
}

// inheritVhost adds the defaults that the port does not override.
func (i *Interface) inheritVhost(defaults map[string]string) {
	if i.Kind != VhostClient && i.Kind != VhostServer {
		return
	}
	for key, v := range defaults {
		if _, own := i.Options[key]; !own {
			i.Options[key] = v
		}
	}
}
