package peers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gvswitch/gvswitch/test/proc"
)

// Schema is the Open_vSwitch schema of Debian's openvswitch-common.
const Schema = "/usr/share/openvswitch/vswitch.ovsschema"

// OVSDB is Debian's ovsdb-server with a database of its own.
type OVSDB struct {
	Address string // unix:PATH
	dir     string
	proc    *proc.Process
}

// StartOVSDB starts an ovsdb-server with its files in dir. A database that is
// there is kept, otherwise an empty one is made.
func StartOVSDB(ctx context.Context, dir string) (*OVSDB, error) {
	if err := proc.Need("ovsdb-server", "openvswitch-switch"); err != nil {
		return nil, err
	}
	db, sock := filepath.Join(dir, "conf.db"), filepath.Join(dir, "db.sock")
	if _, err := os.Stat(db); err != nil {
		if _, err := proc.Run(ctx, "ovsdb-tool", "create", db, Schema); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command("ovsdb-server", "--remote=punix:"+sock,
		"--unixctl="+filepath.Join(dir, "ovsdb.ctl"), "--pidfile="+filepath.Join(dir, "ovsdb.pid"), db)
	cmd.Env = ovsEnv(dir)
	p, err := proc.Start(cmd)
	if err != nil {
		return nil, err
	}
	o := &OVSDB{Address: "unix:" + sock, dir: dir, proc: p}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err = o.Vsctl(ctx, "--no-wait", "init"); err == nil {
			return o, nil
		}
		if !p.Alive() || time.Now().After(end) {
			o.Stop()
			return nil, fmt.Errorf("ovsdb-server: %w\n%s", err, p.Output())
		}
	}
}

// Vsctl runs Debian's ovs-vsctl on the database.
func (o *OVSDB) Vsctl(ctx context.Context, args ...string) (string, error) {
	return proc.Run(ctx, "ovs-vsctl", append([]string{"--db=" + o.Address, "-t", "20"}, args...)...)
}

// Stop ends the server; its files stay.
func (o *OVSDB) Stop() {
	_ = o.proc.Stop(5 * time.Second)
	_ = os.Remove(filepath.Join(o.dir, "db.sock"))
}

// ovsEnv is the environment of an OVS program that has all its files in dir.
func ovsEnv(dir string) []string {
	return append(os.Environ(), "OVS_RUNDIR="+dir, "OVS_LOGDIR="+dir, "OVS_DBDIR="+dir)
}
