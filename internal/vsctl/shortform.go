package vsctl

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/internal/unixsock"
)

// The short form of add-port,
//
//	add-port br0 vm0 tag=10 type=vhost-user mode=client socket=/run/vm0.sock options:n_rxq=2
//
// sets the interface, too, in one command. A setting that names a column of Port is Port's, as with ovs-vsctl; type, mode, socket and
// options are the interface's, and so is any other column that only Interface has (mtu_request, ofport_request, ...).

// vhostTypes are the words for vhost-user ports that are not OVS's own, with the mode that they imply.
var vhostTypes = map[string]string{"vhost-user": "", "vhost-user-client": "client", "vhost-user-server": "server"}

// vhost collects the settings that make up a vhost-user interface.
type vhost struct{ kind, mode, socket string }

// shortForm carries out those settings that are the interface's and returns the others. p has just been inserted.
func (r *run) shortForm(p *row, settings []string) (forPort []string, err error) {
	ifaces := r.refs(p, "interfaces")
	var v vhost
	for _, s := range settings {
		a, err := splitAssignment(s, []string{"="})
		if err != nil {
			return nil, r.blame(p, s, err)
		}
		switch {
		case a.column == "mode" && !a.hasKey:
			v.mode, err = unquote(a.value)
		case a.column == "socket" && !a.hasKey:
			v.socket, err = unquote(a.value)
		case a.column == "type" && !a.hasKey && isVhost(a.value):
			v.kind = a.value
		case r.isIfaceColumn(a.column):
			err = r.assignAll(ifaces, s)
		case !r.hasColumn("Port", a.column) && !r.hasColumn("Interface", a.column):
			err = fmt.Errorf("port %s: %s: neither Port nor Interface has a column whose name matches %q", r.str(p, "name"), s, a.column)
		default:
			forPort = append(forPort, s)
		}
		if err != nil {
			return nil, err
		}
	}
	if v == (vhost{}) {
		return forPort, nil
	}
	return forPort, r.setVhost(r.str(p, "name"), ifaces, v)
}

func isVhost(kind string) bool {
	_, ok := vhostTypes[kind]
	return ok
}

// isIfaceColumn reports whether a setting's column can only be Interface's.
func (r *run) isIfaceColumn(column string) bool {
	return !r.hasColumn("Port", column) && r.hasColumn("Interface", column)
}

// hasColumn reports whether a name means one or more columns of a table.
func (r *run) hasColumn(table, column string) bool {
	names := make([]string, 0, len(r.schema.Tables[table].Columns))
	for _, c := range userColumns(r.schema.Tables[table]) {
		names = append(names, c.Name)
	}
	return len(best(names, column)) > 0
}

func (r *run) assignAll(rows []*row, setting string) error {
	for _, x := range rows {
		if err := r.assign(x, setting); err != nil {
			return err
		}
	}
	return nil
}

// setVhost sets type and socket of a vhost-user interface.
func (r *run) setVhost(name string, ifaces []*row, v vhost) error {
	if v.kind == "" {
		return fmt.Errorf("port %s: mode and socket are settings of type=vhost-user; for another type set its columns and options", name)
	}
	if implied := vhostTypes[v.kind]; implied != "" {
		if v.mode != "" && v.mode != implied {
			return fmt.Errorf("port %s: mode=%s contradicts type=%s", name, v.mode, v.kind)
		}
		v.mode = implied
	}
	var kind string
	switch v.mode {
	case "", "server":
		kind = "dpdkvhostuser"
	case "client":
		kind = "dpdkvhostuserclient"
	default:
		return fmt.Errorf(`port %s: mode "%s" is not one of server and client`, name, v.mode)
	}
	if kind == "dpdkvhostuserclient" && v.socket == "" {
		return fmt.Errorf("port %s: mode=client needs socket=PATH, the socket that the guest's side listens on", name)
	}
	if len(ifaces) != 1 {
		return errors.New("mode and socket are settings of a port with one interface")
	}
	r.setName(ifaces[0], "type", ovsdb.Scalar(ovsdb.Str(kind)))
	if v.socket != "" {
		path := ovsdb.Str("vhost-server-path")
		r.change(ifaces[0], "options", ovsdb.NewSet(path), ovsdb.NewMap(ovsdb.Pair{Key: path, Value: ovsdb.Str(v.socket)}))
	}
	return nil
}

// Limits of the kernel on names (IFNAMSIZ less the final zero) and on socket paths (unix(7), likewise).
const (
	maxIfaceName  = unix.IFNAMSIZ - 1
	maxSocketPath = unixsock.MaxPath
)

// kernelTypes are the types of interfaces that are, or become, a network device of the kernel under the interface's own name.
var kernelTypes = map[string]bool{"": true, "system": true, "internal": true, "tap": true, "veth": true}

// checkNames finds mistakes in what the commands wrote that the switch would only find later.
func (r *run) checkNames() error {
	for _, table := range []string{"Bridge", "Port", "Interface"} {
		for _, x := range r.rows(r.schema.Tables[table]) {
			if len(x.written) == 0 {
				continue
			}
			if err := r.checkName(x); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) checkName(x *row) error {
	kind, name := strings.ToLower(x.table.Name), r.str(x, "name")
	if strings.Contains(name, "/") {
		return fmt.Errorf("%s %s: the name must not contain a slash", kind, name)
	}
	if kind != "interface" {
		return nil
	}
	if t := r.str(x, "type"); kernelTypes[t] && len(name) > maxIfaceName {
		if t == "" {
			t = "system"
		}
		return fmt.Errorf("interface %s: the name has %d bytes, but a network device of the kernel (type %s) has at most %d", name, len(name), t, maxIfaceName)
	}
	if path, ok := r.value(x, "options").MapValue("vhost-server-path"); ok && len(path) > maxSocketPath {
		return fmt.Errorf("interface %s: options:vhost-server-path: %s has %d bytes, but a unix socket path has at most %d", name, path, len(path), maxSocketPath)
	}
	return nil
}
