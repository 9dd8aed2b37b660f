package status_test

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/config/schema"
	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/internal/daemon/desired"
	"github.com/gvswitch/gvswitch/internal/daemon/reconcile"
	"github.com/gvswitch/gvswitch/internal/daemon/rowtest"
	"github.com/gvswitch/gvswitch/internal/daemon/status"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

func row(t *testing.T, rows rowtest.Rows, table, name string) ovsdb.UUID {
	t.Helper()
	for _, r := range rows[table] {
		if r.Get("name").Str() == name {
			return r.UUID()
		}
	}
	t.Fatalf("no %s %s", table, name)
	return ovsdb.UUID{}
}

// show prints updates in a fixed order, and checks each value against the schema.
func show(t *testing.T, rows rowtest.Rows, updates []status.Update) string {
	t.Helper()
	var out strings.Builder
	for _, u := range updates {
		table := schema.OpenVSwitch().Tables[u.Table]
		for _, name := range slices.Sorted(maps.Keys(u.Columns)) {
			v := u.Columns[name]
			if table.Column(name) == nil {
				t.Errorf("%s has no column %s", u.Table, name)
			} else if err := table.Column(name).Type.Check(v); err != nil {
				t.Errorf("%s.%s: %v", u.Table, name, err)
			}
			fmt.Fprintf(&out, "%s %s %s=%s\n", u.Table, rows.Row(u.Table, u.UUID).Get("name").Str(), name, v)
		}
	}
	return out.String()
}

func check(t *testing.T, got, want string) {
	t.Helper()
	if strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestUpdates(t *testing.T) {
	rows, err := rowtest.Parse(`
switch cur_cfg=2
bridge br0
port up / ofport=-1 error=old
port broken / ofport=3 mtu=1500
`)
	if err != nil {
		t.Fatal(err)
	}
	root := rows["Open_vSwitch"][0].UUID()
	res := &reconcile.Results{
		Root: root, NextCfg: 3,
		Report:  desired.Report{Errors: []string{"bad mask"}},
		Bridges: []reconcile.BridgeResult{{UUID: row(t, rows, "Bridge", "br0"), DatapathID: "0000020000000001", Report: desired.Report{Warnings: []string{"a", "b"}}}},
		Ports:   []reconcile.PortResult{{UUID: row(t, rows, "Port", "up")}, {UUID: ovsdb.NewUUID(), Report: desired.Report{Errors: []string{"row is gone"}}}},
		Interfaces: []reconcile.InterfaceResult{
			{
				UUID: row(t, rows, "Interface", "up"), Name: "up", Running: true, OFPort: 1, Resets: 2, Warnings: []string{"w"},
				Info: netdev.Info{
					Link: true, MTU: 9000, MAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, Speed: 1e10, Duplex: "full", IfIndex: 7, Driver: "fake",
					Status: map[string]string{"k": "v", "admin_state": "down"},
				},
			},
			{UUID: row(t, rows, "Interface", "broken"), Name: "broken", OFPort: -1, Error: "no such device"},
		},
	}
	check(t, show(t, rows, status.Updates(rows, res, status.Columns{"ovs_version": ovsdb.Scalar(ovsdb.Str("1"))})), `
Interface up admin_state=down
Interface up duplex=full
Interface up error=
Interface up ifindex=7
Interface up link_resets=2
Interface up link_speed=10000000000
Interface up link_state=up
Interface up mac_in_use=02:00:00:00:00:01
Interface up mtu=9000
Interface up ofport=1
Interface up status=driver_name=fake, k=v, warning=w
Interface broken error=no such device
Interface broken mtu=
Interface broken ofport=-1
Bridge br0 datapath_id=0000020000000001
Bridge br0 datapath_version=<built-in>
Bridge br0 status=warning=a; b
Open_vSwitch  cur_cfg=3
Open_vSwitch  ovs_version=1
Open_vSwitch  statistics=error=bad mask
`)
}

// What the rows hold already is not written again.
func TestUpdatesNothing(t *testing.T) {
	rows, err := rowtest.Parse("switch cur_cfg=3\nbridge br0 datapath_version=<built-in>\nport p / ofport=-1 error=gone")
	if err != nil {
		t.Fatal(err)
	}
	res := &reconcile.Results{
		Root: rows["Open_vSwitch"][0].UUID(), NextCfg: 3,
		Bridges:    []reconcile.BridgeResult{{UUID: row(t, rows, "Bridge", "br0")}},
		Ports:      []reconcile.PortResult{{UUID: row(t, rows, "Port", "p")}},
		Interfaces: []reconcile.InterfaceResult{{UUID: row(t, rows, "Interface", "p"), OFPort: -1, Error: "gone"}},
	}
	check(t, show(t, rows, status.Updates(rows, res, nil)), "")
}

func TestSystem(t *testing.T) {
	table := schema.OpenVSwitch().Tables["Open_vSwitch"]
	for name, v := range status.System("1.2.3") {
		if c := table.Column(name); c == nil {
			t.Errorf("no column %s", name)
		} else if err := c.Type.Check(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStatistics(t *testing.T) {
	s := datapath.PortStats{RxPackets: 10, RxBytes: 1000, TxPackets: 5, TxBytes: 500, TxRetries: 3}
	s.RxDrops[packet.RxBadChain] = 1
	s.RxDrops[packet.VLANNotAllowed] = 2
	s.TxDrops[packet.TxRingFull] = 4
	s.TxDrops[packet.TxError] = 8
	got := status.Statistics(&s, 16)
	for name, want := range map[string]string{
		"rx_packets": "10", "rx_bytes": "1000", "tx_packets": "5", "tx_bytes": "500", "tx_retries": "3",
		"rx_dropped": "2", "rx_errors": "1", "tx_dropped": "4", "tx_errors": "8",
		"rx_missed_errors": "16", "rx_drop_bad_chain": "1", "rx_drop_vlan_not_allowed": "2", "tx_drop_ring_full": "4", "tx_drop_error": "8", "tx_drop_too_long": "",
	} {
		if v, _ := got.MapValue(name); v != want {
			t.Errorf("%s is %q, want %q", name, v, want)
		}
	}
	if err := schema.OpenVSwitch().Tables["Interface"].Column("statistics").Type.Check(got); err != nil {
		t.Error(err)
	}
}
