package server_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/config/internal/ovstest"
	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/config/schema"
	"github.com/gvswitch/gvswitch/config/server"
	"github.com/gvswitch/gvswitch/config/store"
	"github.com/gvswitch/gvswitch/internal/jsonrpc"
)

// serve runs a server with a stored Open_vSwitch database on a socket.
func serve(t *testing.T, file string) (db string) {
	t.Helper()
	st, err := store.Open(file, schema.OpenVSwitch())
	if err != nil {
		t.Fatal(err)
	}
	s := server.New()
	if err := s.Add(st.DB(), st.Commit); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "db.sock")
	l, err := jsonrpc.ListenUnix(socket, 0o660, -1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	finished := make(chan error, 1)
	go func() { finished <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-finished; err != nil {
			t.Error(err)
		}
		s.Close()
		_ = st.Close()
	})
	return "unix:" + socket
}

// Debian's ovs-vsctl configures a switch on our server.
func TestOvsVsctl(t *testing.T) {
	file := filepath.Join(t.TempDir(), "conf.db")
	db := serve(t, file)
	vsctl := func(args ...string) string {
		t.Helper()
		return ovstest.Run(t, "ovs-vsctl", append([]string{"--no-wait", "--timeout=10", "--db=" + db}, args...)...)
	}
	steps := []struct{ args, want string }{
		{"init", ""},
		{"add-br br0 -- set Bridge br0 datapath_type=netdev", ""},
		{"--may-exist add-br br0", ""},
		{"add-port br0 vm0 tag=10 -- set Interface vm0 type=dpdkvhostuserclient options:vhost-server-path=/run/vm0.sock", ""},
		{"add-bond br0 bond0 eth0 eth1 lacp=active", ""},
		{"add-br br1 br0 20", ""},
		{"list-br", "br0\nbr1\n"},
		{"list-ports br0", "bond0\nvm0\n"},
		{"list-ifaces br0", "eth0\neth1\nvm0\n"},
		{"port-to-br vm0", "br0\n"},
		{"iface-to-br eth1", "br0\n"},
		{"br-to-vlan br1", "20\n"},
		{"get Port vm0 tag", "10\n"},
		{"set Port vm0 tag=11 trunks=1,2,3 external_ids:a=b other_config:x=y", ""},
		{"get Port vm0 trunks", "[1, 2, 3]\n"},
		{"remove Port vm0 trunks 2 -- add Port vm0 trunks 7", ""},
		{"get Port vm0 trunks external_ids", "[1, 3, 7]\n{a=b}\n"},
		{"set Port vm0 external_ids:a=c external_ids:d=e", ""},
		{"get Port vm0 external_ids:a", "c\n"},
		{"clear Port vm0 external_ids tag", ""},
		{"--bare --columns=name,tag find Port name=vm0", "vm0\n\n"},
		{"-- --id=@m create Mirror name=m0 select-all=true -- set Bridge br0 mirrors=@m", "UUID"},
		{"--bare --columns=name list Mirror", "m0\n"},
		{"clear Bridge br0 mirrors", ""},
		{"list Mirror", ""},
		{"set-fail-mode br0 secure -- set-controller br0 tcp:127.0.0.1:6653", ""},
		{"get-controller br0", "tcp:127.0.0.1:6653\n"},
		{"set-manager ptcp:6640:127.0.0.1 -- set-ssl /a /b /c", ""},
		{"get-manager", "ptcp:6640:127.0.0.1\n"},
		{"wait-until Bridge br0 fail_mode=secure", ""},
		{"--if-exists del-port nope", ""},
		{"del-port bond0", ""},
		{"list-ports br0", "vm0\n"},
		{"br-exists br0", ""},
	}
	for _, s := range steps {
		got := vsctl(strings.Fields(s.args)...)
		if s.want == "UUID" && len(got) == 37 {
			continue
		}
		if got != s.want {
			t.Errorf("ovs-vsctl %s: %q, want %q", s.args, got, s.want)
		}
	}
	if show := vsctl("show"); !strings.Contains(show, "Port vm0") || !strings.Contains(show, "type: dpdkvhostuserclient") {
		t.Errorf("show:\n%s", show)
	}
	vsctl("del-br", "br0")
	if got := vsctl("--columns=name", "list", "Interface"); got != "" {
		t.Errorf("interfaces are left after del-br: %s", got)
	}
	if st, err := os.Stat(strings.TrimPrefix(db, "unix:")); err != nil || st.Mode().Perm() != 0o660 {
		t.Errorf("socket mode %v, %v", st.Mode(), err)
	}
}

// Debian's ovsdb-client finds everything it asks for.
func TestOvsdbClient(t *testing.T) {
	db := serve(t, filepath.Join(t.TempDir(), "conf.db"))
	client := func(args ...string) string {
		t.Helper()
		return ovstest.Run(t, "ovsdb-client", append([]string{"--timeout=10"}, args...)...)
	}
	if got := client("list-dbs", db); got != "Open_vSwitch\n_Server\n" {
		t.Errorf("list-dbs: %q", got)
	}
	if got := client("get-schema-version", db, "Open_vSwitch"); got != "8.3.2\n" {
		t.Errorf("get-schema-version: %q", got)
	}
	if got := client("get-schema-cksum", db, "Open_vSwitch"); got != "3012963480 26720\n" {
		t.Errorf("get-schema-cksum: %q", got)
	}
	got, err := ovsdb.ParseSchema([]byte(client("get-schema", db, "Open_vSwitch")))
	if err != nil || !slices.Equal(got.TableNames(), schema.OpenVSwitch().TableNames()) {
		t.Errorf("get-schema gives another schema, %v", err)
	}
	client("transact", db, `["Open_vSwitch",{"op":"insert","table":"Open_vSwitch","row":{"ovs_version":"here"}}]`)
	if got := client("dump", db, "Open_vSwitch", "Open_vSwitch", "ovs_version"); !strings.Contains(got, "here") {
		t.Errorf("dump: %s", got)
	}
	if got := client("dump", db, "_Server", "Database", "name"); !strings.Contains(got, "Open_vSwitch") {
		t.Errorf("dump of _Server: %s", got)
	}
	client("wait", db, "Open_vSwitch", "connected")
	if got := client("list-tables", db, "Open_vSwitch"); !strings.Contains(got, "AutoAttach") {
		t.Errorf("list-tables: %s", got)
	}
	if got := client("query", db, `["Open_vSwitch",{"op":"select","table":"Open_vSwitch","where":[],"columns":["ovs_version"]}]`); got != `[{"rows":[{"ovs_version":"here"}]}]`+"\n" {
		t.Errorf("query: %s", got)
	}
	backup := client("backup", db)
	if !strings.Contains(backup, `"ovs_version":"here"`) {
		t.Errorf("backup: %s", backup)
	}
	for _, method := range []string{"monitor", "monitor-cond", "monitor-cond-since"} {
		args := []string{db, "Open_vSwitch"}
		if method == "monitor-cond-since" {
			args = append(args, "00000000-0000-0000-0000-000000000000")
		}
		if method != "monitor" {
			args = append(args, "[]")
		}
		args = append(append([]string{"--format=csv", method}, args...), "Open_vSwitch", "ovs_version", "--timeout=1")
		checkMonitor(t, args)
	}
}
