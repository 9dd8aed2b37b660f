package desired

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// Env is what the rows are read against.
type Env struct {
	RunDir string // absolute
	CPUs   []int  // cores that poll threads may use
}

// Read computes the switch that the rows ask for.
func Read(rows Rows, env Env) *State {
	r := &reader{rows: rows, env: env, state: &State{}, ports: map[ovsdb.UUID]string{}, ifaces: map[ovsdb.UUID]string{}}
	r.root()
	r.patches()
	return r.state
}

// reader is one call of Read.
type reader struct {
	rows    Rows
	env     Env
	state   *State
	sockDir string
	vhost   map[string]string     // options of vhost-user ports that do not say otherwise
	ports   map[ovsdb.UUID]string // Port rows seen, with the bridge they went to
	ifaces  map[ovsdb.UUID]string // Interface rows seen, with the port they went to
}

// root reads the Open_vSwitch row, of which the schema allows one.
func (r *reader) root() {
	s := r.state
	all := r.rows.Table("Open_vSwitch")
	if len(all) == 0 {
		s.Threads, s.Flows = &Threads{Assign: "cycles", Isolate: true}, &Flows{}
		return
	}
	row := all[0]
	s.Root = row.UUID()
	s.NextCfg, _ = row.Get("next_cfg").Int()
	other := options{m: row.Get("other_config").StringMap(), column: "other_config", report: &s.Report}
	s.Threads = readThreads(&other, r.env.CPUs)
	r.sockDir = r.readSockDir(&other)
	r.vhost = readVhost(&other)
	s.Flows = readFlows(&other)
	readVLANLimit(&other)
	other.leftover()
	unsupported(row, rootColumns, &s.Report)
	for _, id := range row.Get("bridges").UUIDs() {
		if b := r.rows.Row("Bridge", id); b != nil {
			s.Bridges = append(s.Bridges, r.bridge(b))
		}
	}
	slices.SortFunc(s.Bridges, func(a, b *Bridge) int { return strings.Compare(a.Name, b.Name) })
	for _, b := range s.Bridges {
		r.bridgePorts(b)
	}
}

// readSockDir resolves vhost-sock-dir: relative to the run directory, as in OVS, or absolute.
func (r *reader) readSockDir(other *options) string {
	dir, ok := other.take("vhost-sock-dir")
	switch {
	case !ok || dir == "":
		return r.env.RunDir
	case filepath.IsAbs(dir):
		return filepath.Clean(dir)
	case !filepath.IsLocal(dir):
		other.fail("vhost-sock-dir", dir, "leads out of the run directory; give an absolute path for a directory elsewhere")
		return r.env.RunDir
	default:
		return filepath.Join(r.env.RunDir, dir)
	}
}

// patches checks that patch ports lead to each other. One that does not (yet) can be used, and sends nothing.
func (r *reader) patches() {
	byName := map[string]*Interface{}
	for _, b := range r.state.Bridges {
		for _, p := range b.Ports {
			if p.Iface != nil && p.Iface.Kind == Patch && p.Iface.Refused == "" {
				byName[p.Iface.Name] = p.Iface
			}
		}
	}
	for _, i := range byName {
		switch peer := byName[i.Peer]; {
		case peer == nil:
			i.Report.fail("options:peer=%s: there is no patch port of that name", i.Peer) // internal/vsctl knows the text
		case peer.Peer != i.Name:
			i.Report.fail("options:peer=%s: that port's peer is %s, not this one", i.Peer, peer.Peer)
		}
	}
}

func (p *Report) fail(format string, args ...any) {
	p.Errors = append(p.Errors, fmt.Sprintf(format, args...))
}

func (p *Report) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}
