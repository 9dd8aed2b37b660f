package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// buildFile makes a database file with Debian's tools, as a running Open vSwitch would leave it, and returns its path and its content.
func buildFile(t *testing.T) (file, content string) {
	t.Helper()
	dir := t.TempDir()
	file, socket := filepath.Join(dir, "conf.db"), filepath.Join(dir, "db.sock")
	if out, err := exec.Command("ovsdb-tool", "create", file, vswitchSchema).CombinedOutput(); err != nil {
		t.Fatalf("ovsdb-tool: %v: %s", err, out)
	}
	server := exec.Command("ovsdb-server", file, "--remote=punix:"+socket, "--unixctl="+filepath.Join(dir, "ctl"), "-vconsole:off", "--no-chdir")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	db := waitFor(t, socket)
	for _, line := range []string{
		`add-br br0 -- set Bridge br0 datapath_type=netdev other_config:hwaddr=\"00:00:00:00:00:01\"`,
		`add-port br0 vm0 tag=10 -- set Interface vm0 type=dpdkvhostuserclient options:vhost-server-path=/run/vm0.sock ofport_request=5`,
		`add-bond br0 bond0 e0 e1 bond_mode=balance-slb`,
		`add-br br10 br0 10 -- add-port br10 p10 -- br-set-external-id br10 k v`,
		`-- --id=@q create QoS type=linux-htb queues:0=@a queues:1=@b -- --id=@a create Queue other_config:min-rate=1 -- --id=@b create Queue dscp=5 -- set Port vm0 qos=@q`,
		`-- --id=@p get Port vm0 -- --id=@m create Mirror name=m select-all=true output-port=@p -- set Bridge br0 mirrors=@m`,
		`-- --id=@d create Datapath external_ids:a=b -- set Open_vSwitch . datapaths:netdev=@d`,
		`set-manager ptcp:6640`,
		`set Open_vSwitch . external_ids:system-id=abc other_config:pmd-cpu-mask=0x6`,
	} {
		if o := callReal(t, "ovs-vsctl", append([]string{"--no-wait", "--db=" + db}, words(line)...)...); o.status != 0 {
			t.Fatalf("%s: %v", line, o)
		}
	}
	content = dump(t, db)
	// What a switch has written is not configuration.
	for _, line := range []string{
		`set Interface vm0 ofport=5 error=x mac_in_use=\"00:00:00:00:00:02\" statistics:rx_packets=7`,
		`set Open_vSwitch . cur_cfg=9 next_cfg=9 ovs_version=3.1.0 iface_types=[internal,tap]`,
		`set Bridge br0 datapath_id=0000000000000001`,
	} {
		if o := callReal(t, "ovs-vsctl", append([]string{"--no-wait", "--db=" + db}, words(line)...)...); o.status != 0 {
			t.Fatalf("%s: %v", line, o)
		}
	}
	return file, content
}

func TestImport(t *testing.T) {
	file, content := buildFile(t)
	db := ovsdbServer(t)
	gvsctl := func(line string) outcome {
		return call(nil, "gvsctl", append([]string{"--no-wait", "--db=" + db}, words(line)...)...)
	}
	if o := gvsctl("import " + file); o != (outcome{}) {
		t.Fatal(o)
	}
	if got := dump(t, db); got != content {
		t.Errorf("the databases differ\n=== imported:\n%s\n=== file:\n%s", got, content)
	}
	if o := gvsctl("get Interface vm0 ofport error mac_in_use statistics -- get Open_vSwitch . ovs_version next_cfg"); o.stdout != "[]\n[]\n[]\n{}\n[]\n0\n" {
		t.Errorf("status was taken over: %v", o)
	}

	// A second time only with --replace, and then it is the same, not twice as much.
	o := gvsctl("import " + file)
	want := "gvsctl: " + file + ": not imported, the switch has a configuration already (bridges, datapaths, external_ids, manager_options, other_config, QoS, Queue); --replace puts the file's in its place\n"
	if o.status != 1 || o.stderr != want {
		t.Errorf("%v\nwant %s", o, want)
	}
	if o := gvsctl("add-br br9 -- add-port br9 other -- set Open_vSwitch . other_config:vhost-sock-dir=/x"); o.status != 0 {
		t.Fatal(o)
	}
	if o := gvsctl("import --replace " + file); o != (outcome{}) {
		t.Fatal(o)
	}
	if again := dump(t, db); again != content {
		t.Errorf("after --replace the databases differ\n=== imported:\n%s\n=== file:\n%s", again, content)
	}
}

// With a switch that runs, the errors of what it cannot do are told, as for any change.
func TestImportWaits(t *testing.T) {
	file, _ := buildFile(t)
	db := ovsdbServer(t)
	fakeSwitch(t, db)
	if o := call(nil, "gvsctl", "-t20", "--db="+db, "import", file); o != (outcome{}) {
		t.Error(o)
	}
	if o := call(nil, "gvsctl", "--db="+db, "list-br"); o.stdout != "br0\nbr10\n" {
		t.Error(o)
	}
}

func TestImportErrors(t *testing.T) {
	db := ovsdbServer(t)
	dir := t.TempDir()
	other := filepath.Join(dir, "other.db")
	schema := "../../config/schema/server.ovsschema"
	if out, err := exec.Command("ovsdb-tool", "create", other, schema).CombinedOutput(); err != nil {
		t.Fatalf("ovsdb-tool: %v: %s", err, out)
	}
	for _, c := range []struct{ file, want string }{
		{other, "the database in the file is _Server, not Open_vSwitch"},
		{dir, "not a regular file"},
		{"import_test.go", "import_test.go: "},
	} {
		if o := call(nil, "gvsctl", "--db="+db, "import", c.file); o.status != 1 || !strings.Contains(o.stderr, c.want) || o.stdout != "" {
			t.Errorf("%s: %v", c.file, o)
		}
	}
}
