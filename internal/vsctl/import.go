package vsctl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// statusColumns are the columns that a switch writes, by table. They say what another switch found and are not taken over.
var statusColumns = map[string][]string{
	"Open_vSwitch": {
		"cur_cfg", "next_cfg", "statistics", "ovs_version", "db_version", "system_type", "system_version", "datapath_types", "iface_types",
		"dpdk_initialized", "dpdk_version",
	},
	"Bridge": {"datapath_id", "datapath_version", "status", "rstp_status"},
	"Port":   {"status", "statistics", "rstp_status", "rstp_statistics", "bond_active_slave"},
	"Interface": {
		"ofport", "error", "admin_state", "bfd_status", "cfm_fault", "cfm_fault_status", "cfm_flap_count", "cfm_health", "cfm_remote_mpids",
		"cfm_remote_opstate", "duplex", "ifindex", "lacp_current", "link_resets", "link_speed", "link_state", "mac_in_use", "mtu",
		"statistics", "status",
	},
	"Mirror":     {"statistics"},
	"Controller": {"is_connected", "role", "status"},
	"Manager":    {"is_connected", "status"},
	"Datapath":   {"capabilities", "datapath_version"},
}

// ImportCommand makes a command that takes over the content of another database, read from the named file, as one change. It refuses to
// replace a configuration unless replace is set.
func ImportCommand(from *ovsdb.DB, file string, replace bool) *Command {
	return &Command{
		Syntax: &Syntax{
			Name: "import",
			prepare: func(p *plan, _ *Command) error {
				for name, t := range p.schema.Tables {
					for _, c := range userColumns(t) {
						p.need(name, c.Name)
					}
				}
				return nil
			},
			run: func(r *run, _ *Command) error { return (&importer{r: r, from: from, file: file}).run(replace) },
		},
		Args: []string{file},
	}
}

// importer is one import.
type importer struct {
	r    *run
	from *ovsdb.DB
	file string
	rows map[ovsdb.UUID]*row // new rows by the UUID they have in the file
}

func (m *importer) run(replace bool) error {
	r := m.r
	if m.from.Schema().Name != r.schema.Name {
		return fmt.Errorf("%s: the database in the file is %s, not %s", m.file, m.from.Schema().Name, r.schema.Name)
	}
	if has := r.configuration(); has != "" {
		if !replace {
			return fmt.Errorf("%s: not imported, the switch has a configuration already (%s); --replace puts the file's in its place", m.file, has)
		}
		m.clear()
	}
	m.rows = make(map[ovsdb.UUID]*row)
	for _, name := range m.from.Schema().TableNames() {
		source := m.from.Schema().Tables[name]
		if len(m.from.Rows(source)) == 0 || name == "Open_vSwitch" {
			continue
		}
		t := r.schema.Tables[name]
		if t == nil {
			r.options.warn(fmt.Sprintf("%s: table %s is left out, the switch's database does not have it", m.file, name))
			continue
		}
		for id := range m.from.Rows(source) {
			m.rows[id] = r.insert(t, nil)
		}
	}
	for _, name := range m.from.Schema().TableNames() {
		source := m.from.Schema().Tables[name]
		for id, from := range m.from.Rows(source) {
			to := m.rows[id]
			if name == "Open_vSwitch" {
				to = r.ovs
			}
			if to == nil {
				continue
			}
			if err := m.copyRow(source, from, to); err != nil {
				return err
			}
		}
	}
	for _, x := range m.rows {
		if x.table.Name == "Interface" {
			r.newIfaces = append(r.newIfaces, x)
		}
	}
	r.invalidate()
	return nil
}

// configuration says what of a configuration there is, for people; nothing if the database is as good as empty.
func (r *run) configuration() string {
	var has []string
	for _, c := range userColumns(r.ovs.table) {
		if d := r.get(r.ovs, c); !isStatus("Open_vSwitch", c.Name) && !d.Equal(c.Type.Default()) {
			has = append(has, c.Name)
		}
	}
	for _, name := range r.schema.TableNames() {
		if t := r.schema.Tables[name]; t.IsRoot && name != "Open_vSwitch" && len(r.rows(t)) > 0 {
			has = append(has, name)
		}
	}
	return strings.Join(has, ", ")
}

// clear removes the configuration that is there, every row of it: a root must not go while another row, though garbage, refers to it.
func (m *importer) clear() {
	for _, t := range m.r.schema.Tables {
		if t.Name == "Open_vSwitch" {
			continue
		}
		for _, x := range m.r.rows(t) {
			m.r.remove(x)
			x.purge = true
		}
	}
	for _, c := range userColumns(m.r.ovs.table) {
		if !isStatus("Open_vSwitch", c.Name) {
			m.r.set(m.r.ovs, c, c.Type.Default())
		}
	}
}

func isStatus(table, column string) bool { return slices.Contains(statusColumns[table], column) }

// copyRow sets the columns of a row as they are in the file, with references to the new rows.
func (m *importer) copyRow(source *ovsdb.Table, from *ovsdb.Row, to *row) error {
	for _, c := range userColumns(source) {
		d := from.Get(c)
		if d.Equal(c.Type.Default()) || isStatus(source.Name, c.Name) {
			continue
		}
		target := to.table.Column(c.Name)
		if target == nil {
			m.r.options.warn(fmt.Sprintf("%s: column %s of table %s is left out, the switch's database does not have it", m.file, c.Name, source.Name))
			continue
		}
		d = m.translate(&target.Type, d)
		if err := target.Type.Check(d); err != nil {
			return fmt.Errorf("%s: table %s record %s column %s: %w", m.file, source.Name, from.UUID(), c.Name, err)
		}
		m.r.set(to, target, d)
	}
	return nil
}

// translate replaces references to rows of the file by references to the new ones.
func (m *importer) translate(t *ovsdb.ColumnType, d ovsdb.Datum) ovsdb.Datum {
	pairs := pairsOf(t, d)
	kept := pairs[:0]
	for _, p := range pairs {
		key, ok := m.reference(&t.Key, p.Key)
		value, ok2 := p.Value, true
		if t.IsMap() {
			value, ok2 = m.reference(t.Value, p.Value)
		}
		if ok && ok2 {
			kept = append(kept, ovsdb.Pair{Key: key, Value: value})
		}
	}
	return newDatum(t, kept)
}

// reference translates an atom; ok is false for a reference to a row that was left out.
func (m *importer) reference(b *ovsdb.BaseType, a ovsdb.Atom) (atom ovsdb.Atom, ok bool) {
	if b.RefTable == "" || a.Kind() != ovsdb.UUIDKind {
		return a, true
	}
	x := m.rows[a.UUID()]
	if x == nil {
		return a, false
	}
	return ovsdb.Ref(x.id), true
}
