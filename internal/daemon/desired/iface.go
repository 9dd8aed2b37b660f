package desired

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/netdev"
)

// iface reads an Interface row. local is set for the one of a bridge's own port.
func (r *reader) iface(row Row, local bool) *Interface {
	i := &Interface{UUID: row.UUID(), Name: row.Get("name").Str(), SockDir: r.sockDir}
	i.Options = row.Get("options").StringMap()
	request, _ := row.Get("ofport_request").Int()
	i.OFPortRequest = int(request)
	if before, _ := row.Get("ofport").Int(); before > 0 && before < 0xff00 {
		i.OFPortBefore = int(before)
	}
	mtu, _ := row.Get("mtu_request").Int()
	i.MTU = int(mtu)
	i.readKind(row.Get("type").Str(), local)
	i.inheritVhost(r.vhost)
	i.readMAC(row.Get("mac").Str())
	if i.Kind == Internal && !local && i.MAC == "" {
		i.MAC = stableMAC(row.UUID())
	}
	i.readOther(row)
	i.readPolicing(row)
	unsupported(row, interfaceColumns, &i.Report)
	if i.Refused == "" {
		i.checkName()
	}
	if i.Refused == "" {
		i.claim()
	}
	return i
}

// refuse records the first reason.
func (i *Interface) refuse(why string) {
	if i.Refused == "" {
		i.Refused = why
	}
}

// readKind finds the provider and takes out of the options what only says which one.
func (i *Interface) readKind(name string, local bool) {
	kind, ok := typeKinds[name]
	switch {
	case name == "dpdk" && strings.Contains(i.Options["dpdk-devargs"], "net_virtio_user"):
		path := "the socket"
		for arg := range strings.SplitSeq(i.Options["dpdk-devargs"], ",") {
			if p, ok := strings.CutPrefix(arg, "path="); ok {
				path = p
			}
		}
		i.refuse("type=dpdk: this switch does without DPDK; use type=virtio-user options:path=" + path)
		return
	case name == "dpdk":
		i.refuse("type=dpdk: this switch does without DPDK; use type=system (or afpacket) with the kernel's name of the NIC")
		return
	case !ok:
		names := InterfaceTypes()
		slices.Sort(names)
		i.refuse("type=" + name + ": not one of " + strings.Join(names, ", "))
		return
	case local && kind != Internal && kind != System && kind != Dummy:
		i.refuse("type=" + name + ": a bridge's own interface is of type internal")
		return
	case local && kind == System:
		kind = Internal // as in OVS, the type of a bridge's own interface may be left out
	}
	if name == "vhost-user" {
		switch mode := i.Options["mode"]; mode {
		case "", "server":
		case "client":
			kind = VhostClient
		default:
			i.refuse("options:mode=" + mode + ": neither server nor client")
		}
		delete(i.Options, "mode")
	}
	i.Kind = kind
	switch kind {
	case VhostClient, VhostServer:
		i.readSocket(name)
	case Patch:
		i.readPatch()
	}
}

// readSocket gives the socket's path its OVS name.
func (i *Interface) readSocket(typeName string) {
	short, ok := i.Options["socket"]
	if !ok {
		return
	}
	if long, both := i.Options["vhost-server-path"]; both && long != short {
		i.refuse("options:socket=" + short + ": options:vhost-server-path says " + long)
	}
	delete(i.Options, "socket")
	i.Options["vhost-server-path"] = short
}

func (i *Interface) readPatch() {
	i.Peer = i.Options["peer"]
	switch {
	case i.Peer == "":
		i.refuse("options:peer: missing, a patch port needs the name of the other one")
	case i.Peer == i.Name:
		i.refuse("options:peer=" + i.Peer + ": a patch port cannot lead to itself")
	}
	delete(i.Options, "peer")
	for _, k := range slices.Sorted(maps.Keys(i.Options)) {
		i.refuse("options:" + k + ": not an option of a patch port")
	}
}

func (i *Interface) readMAC(mac string) {
	if mac == "" {
		return
	}
	addr, why := parseUnicastMAC(mac)
	if why != "" {
		i.Report.fail("mac=%s: %s", mac, why)
		i.KeepMAC = true
		return
	}
	i.MAC = addr.String()
}

// readOther reads other_config.
func (i *Interface) readOther(row Row) {
	o := options{m: row.Get("other_config").StringMap(), column: "other_config", report: &i.Report}
	if v, ok := o.take("pmd-rxq-affinity"); ok && v != "" {
		m, err := parseAffinity(v)
		if err != nil {
			o.fail("pmd-rxq-affinity", v, "%v", err)
			i.KeepAffinity = true
		}
		i.Affinity = m
	}
	i.readLACP(&o)
	o.leftover()
}

// checkName refuses names that would harm somebody later: in the kernel, in a path or in the output of a command.
func (i *Interface) checkName() {
	switch i.Kind {
	case System, Internal, Tap, Veth:
		i.refuse(checkKernelName(i.Name))
	default:
		i.refuse(checkName(i.Name))
	}
}

// checkKernelName refuses what the kernel or the tools around it would not take.
func checkKernelName(name string) string {
	if err := netdev.CheckIfName(name); err != nil {
		return "name: " + err.Error()
	}
	return ""
}

func checkName(name string) string {
	switch {
	case name == "":
		return "name: empty"
	case name == "." || name == "..":
		return "name=" + name + ": not a name for a device"
	case strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c == '/' || c >= 0x7f }):
		return "name=" + quoteName(name) + ": has a character other than printable ASCII without blank and slash"
	}
	return ""
}

// claimVirtioUser: a server's socket is its own. Of a client it is the back end's, which may be a port of this switch, too.
func (i *Interface) claimVirtioUser() {
	path := i.Options["path"]
	if path == "" {
		return
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(i.SockDir, path)
	}
	what := "connection to "
	if i.Options["server"] == "true" {
		what = "socket "
	}
	i.Claims = append(i.Claims, what+filepath.Clean(path))
}

// claim lists what only one port can have.
func (i *Interface) claim() {
	switch i.Kind {
	case System, Internal, Tap, Veth:
		i.Claims = append(i.Claims, "device "+i.Name)
	case Dummy:
		i.Claims = append(i.Claims, "dummy "+i.Name)
	case VhostServer, VhostClient:
		path := i.Options["vhost-server-path"]
		if path == "" && i.Kind == VhostServer {
			path = i.Name
		}
		if path != "" && !filepath.IsAbs(path) {
			path = filepath.Join(i.SockDir, path)
		}
		if path != "" {
			i.Claims = append(i.Claims, "socket "+filepath.Clean(path))
		}
	case VirtioUser:
		i.claimVirtioUser()
	}
}
