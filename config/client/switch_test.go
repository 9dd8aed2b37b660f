package client

import (
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/config/internal/ovstest"
	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/config/schema"
	"github.com/gvswitch/gvswitch/config/server"
	"github.com/gvswitch/gvswitch/config/store"
	"github.com/gvswitch/gvswitch/internal/jsonrpc"
)

// fakeSwitch does what ovs-vsctl waits for: it numbers the interfaces, refuses
// those called "bad...", and lets cur_cfg follow next_cfg, all in one
// transaction.
func fakeSwitch(ctx context.Context, r *Replica) error {
	next := int64(1)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.Changed():
		}
		s := r.Snapshot()
		x := r.Begin()
		for _, i := range s.Rows("Interface") {
			if i.Get("ofport").Len() > 0 {
				continue
			}
			cols := Columns{
				"ofport": ovsdb.Scalar(ovsdb.Int(next)), "error": {}, "link_state": ovsdb.Scalar(ovsdb.Str("up")),
				"mac_in_use": ovsdb.Scalar(ovsdb.Str("02:00:00:00:00:01")), "status": ovsdb.StringMap(map[string]string{"driver": "fake"}),
				"statistics": ovsdb.NewMap(ovsdb.Pair{Key: ovsdb.Str("rx_packets"), Value: ovsdb.Int(next)}),
			}
			if strings.HasPrefix(i.Get("name").Str(), "bad") {
				cols = Columns{"ofport": ovsdb.Scalar(ovsdb.Int(-1)), "error": ovsdb.Scalar(ovsdb.Str("no such device"))}
			}
			next++
			x.Update("Interface", i.UUID(), cols)
		}
		if root := s.First("Open_vSwitch"); root != nil && !root.Get("cur_cfg").Equal(root.Get("next_cfg")) {
			x.Update("Open_vSwitch", root.UUID(), Columns{"cur_cfg": root.Get("next_cfg")})
		}
		if err := r.Commit(ctx, x); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// serveFile is our server with a stored database, on a socket.
func serveFile(t *testing.T) (socket string) {
	t.Helper()
	st, err := store.Open(filepath.Join(t.TempDir(), "conf.db"), schema.OpenVSwitch())
	if err != nil {
		t.Fatal(err)
	}
	s := server.New()
	if err := s.Add(st.DB(), st.Commit); err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(t.TempDir(), "db.sock")
	l, err := jsonrpc.ListenUnix(socket, 0o600, -1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	finished := make(chan error, 1)
	go func() { finished <- s.Serve(ctx, net.Listener(l)) }()
	t.Cleanup(func() { cancel(); <-finished; s.Close(); _ = st.Close() })
	return socket
}

// Debian's ovs-vsctl with a switch behind the database, ours or OVS's: it
// waits until its change is applied, and reports the switch's refusals.
func TestOvsVsctlWaitsForSwitch(t *testing.T) {
	sockets := map[string]func(t *testing.T) string{
		"ours":         serveFile,
		"ovsdb-server": func(t *testing.T) string { return ovstest.StartServer(t, "../schema/vswitch.ovsschema") },
	}
	for name, start := range sockets {
		t.Run(name, func(t *testing.T) {
			socket := start(t)
			dial, err := Address(socket)
			if err != nil {
				t.Fatal(err)
			}
			tables := map[string][]string{"Open_vSwitch": {"cur_cfg", "next_cfg"}, "Interface": {"name", "ofport", "error"}}
			r := NewReplica(dial, Options{Tables: tables, Lock: "ovs_vswitchd", Reconnect: true})
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan error, 2)
			go func() { _ = r.Run(ctx); ended <- nil }()
			if _, err := r.Wait(testContext(t), nil); err != nil {
				t.Fatal(err)
			}
			go func() { ended <- fakeSwitch(ctx, r) }()
			defer func() {
				cancel()
				for range 2 {
					if err := <-ended; err != nil {
						t.Error(err)
					}
				}
			}()

			vsctl := func(args string) string {
				t.Helper()
				return ovstest.Run(t, "ovs-vsctl", append([]string{"--timeout=10", "--db=unix:" + socket}, strings.Fields(args)...)...)
			}
			vsctl("add-br br0 -- add-port br0 vm0 tag=3")
			if got := vsctl("get Interface vm0 ofport link_state status:driver"); got == "[]\nup\nfake\n" || !strings.HasSuffix(got, "\nup\nfake\n") {
				t.Errorf("the switch's columns: %q", got)
			}
			vsctl("wait-until Interface vm0 link_state=up")
			if got := vsctl("get Interface vm0 statistics:rx_packets"); got == "" {
				t.Error("no statistics")
			}
			out, err := exec.Command("ovs-vsctl", "--timeout=10", "--db=unix:"+socket, "add-port", "br0", "bad0").CombinedOutput()
			if err != nil || !strings.Contains(string(out), "no such device") {
				t.Errorf("add-port of a device that fails: %v: %s", err, out)
			}
			start := time.Now()
			for i := range 8 {
				vsctl("add-port br0 p" + string(rune('a'+i)))
			}
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("eight add-port took %v", d)
			}
			vsctl("del-br br0")
			if got := vsctl("get Open_vSwitch . cur_cfg"); got != vsctl("get Open_vSwitch . next_cfg") {
				t.Errorf("cur_cfg %s is behind", got)
			}
		})
	}
}
