package client

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

var everything = map[string][]string{
	"Open_vSwitch": nil, "Bridge": nil, "Port": {"name", "interfaces", "tag", "external_ids", "trunks"},
	"Interface": {"name", "type", "options", "ofport", "error"}, "Mirror": {}, "Nonsense": nil,
}

// addBridge makes br0 with one port, and the Open_vSwitch row if it must.
func addBridge(t testing.TB, r *Replica, name string) (root, bridge ovsdb.UUID) {
	t.Helper()
	x := r.Begin()
	iface := x.Insert("Interface", Columns{"name": ovsdb.Scalar(ovsdb.Str(name)), "type": ovsdb.Scalar(ovsdb.Str("internal"))})
	port := x.Insert("Port", Columns{"name": ovsdb.Scalar(ovsdb.Str(name)), "interfaces": ovsdb.UUIDSet(iface)})
	b := x.Insert("Bridge", Columns{"name": ovsdb.Scalar(ovsdb.Str(name)), "ports": ovsdb.UUIDSet(port)})
	if row := r.Snapshot().First("Open_vSwitch"); row != nil {
		root = row.UUID()
	} else {
		root = x.Insert("Open_vSwitch", nil)
	}
	x.InsertInto("Open_vSwitch", root, "bridges", ovsdb.UUIDSet(b))
	x.Comment("add " + name)
	if err := r.Commit(testContext(t), x); err != nil {
		t.Fatal(err)
	}
	bridge, err := x.UUID(b)
	if err != nil {
		t.Fatal(err)
	}
	return r.Snapshot().First("Open_vSwitch").UUID(), bridge
}

func TestReplica(t *testing.T) {
	forEachServer(t, func(t *testing.T, dial Dialer) {
		r := openReplica(t, dial, Options{Tables: everything})
		before := r.Snapshot()
		root, bridge := addBridge(t, r, "br0")
		s := r.Snapshot() // the commit's effects are there at once
		if before.Len("Bridge") != 0 {
			t.Error("an old snapshot changed")
		}
		b := s.Row("Bridge", bridge)
		if b == nil || b.Get("name").Str() != "br0" || s.Named("Bridge", "br0") != b {
			t.Fatalf("bridge: %v", b)
		}
		port := s.Row("Port", b.Get("ports").UUIDs()[0])
		iface := s.Row("Interface", port.Get("interfaces").UUIDs()[0])
		if iface.Get("type").Str() != "internal" || iface.Get("options").Len() != 0 {
			t.Errorf("interface: %v", iface.Columns())
		}
		if _, has := port.Get("tag").Int(); has || port.Get("lacp").Len() != 0 || port.Get("nope").Len() != 0 {
			t.Errorf("port: %v", port.Columns())
		}
		if s.Has("Nonsense", "") || s.Has("Port", "nope") || !s.Has("Port", "tag") {
			t.Error("Has is wrong")
		}

		x := r.Begin()
		x.Update("Port", port.UUID(), Columns{"tag": ovsdb.Scalar(ovsdb.Int(7)), "trunks": ovsdb.NewSet(ovsdb.Int(1), ovsdb.Int(2), ovsdb.Int(3))})
		x.SetKeys("Port", port.UUID(), "external_ids", ovsdb.StringMap(map[string]string{"a": "1", "b": "2"}))
		x.Add("Open_vSwitch", root, "next_cfg", 1)
		i := x.Select("Open_vSwitch", root, "next_cfg")
		commit(t, r, x)
		if row, err := x.Row(i); err != nil || !row["next_cfg"].Equal(ovsdb.Scalar(ovsdb.Int(1))) {
			t.Errorf("select: %v %v", row, err)
		}
		x = r.Begin()
		x.SetKeys("Port", port.UUID(), "external_ids", ovsdb.StringMap(map[string]string{"a": "3"}))
		x.DeleteFrom("Port", port.UUID(), "external_ids", ovsdb.Str("b"))
		x.DeleteFrom("Port", port.UUID(), "trunks", ovsdb.Int(2))
		x.Update("Port", port.UUID(), Columns{"tag": {}})
		commit(t, r, x)
		p := r.Snapshot().Row("Port", port.UUID())
		if m := p.Get("external_ids").StringMap(); len(m) != 1 || m["a"] != "3" {
			t.Errorf("external_ids %v", m)
		}
		if got := p.Get("trunks").Ints(); !slices.Equal(got, []int64{1, 3}) || p.Get("tag").Len() != 0 {
			t.Errorf("trunks %v, tag %v", got, p.Get("tag"))
		}
		if v, _ := port.Get("tag").Int(); v != 0 {
			t.Error("an old row changed")
		}

		x = r.Begin()
		x.DeleteFrom("Open_vSwitch", root, "bridges", ovsdb.Ref(bridge))
		commit(t, r, x)
		for _, table := range []string{"Bridge", "Port", "Interface"} {
			if n := r.Snapshot().Len(table); n != 0 {
				t.Errorf("%d rows left in %s", n, table)
			}
		}
	})
}

func commit(t testing.TB, r *Replica, x *Tx) {
	t.Helper()
	if err := r.Commit(testContext(t), x); err != nil {
		t.Fatal(err)
	}
}

func TestRefusals(t *testing.T) {
	forEachServer(t, func(t *testing.T, dial Dialer) {
		r := openReplica(t, dial, Options{Tables: everything})
		root, bridge := addBridge(t, r, "br0")
		tests := []struct {
			name string
			do   func(x *Tx)
			tag  string // "" if the client refuses
			text string
		}{
			{"unknown table", func(x *Tx) { x.Insert("Nope", nil) }, "", "database Open_vSwitch has no table Nope"},
			{"unknown column", func(x *Tx) { x.Update("Bridge", bridge, Columns{"nope": {}}) }, "", "table Bridge has no column nope"},
			{"wrong type", func(x *Tx) { x.Update("Bridge", bridge, Columns{"fail_mode": ovsdb.Scalar(ovsdb.Int(1))}) }, "", "table Bridge column fail_mode: syntax error: expected string"},
			{"not allowed", func(x *Tx) { x.Update("Bridge", bridge, Columns{"fail_mode": ovsdb.Scalar(ovsdb.Str("x"))}) }, "", "constraint violation: x is not one of"},
			{"immutable", func(x *Tx) { x.Update("Bridge", bridge, Columns{"name": ovsdb.Scalar(ovsdb.Str("x"))}) }, "constraint violation", "update in table Bridge"},
			{"verify", func(x *Tx) {
				x.Verify("Open_vSwitch", root, Columns{"next_cfg": ovsdb.Scalar(ovsdb.Int(99))})
			}, "timed out", "wait in table Open_vSwitch"},
			{"second root", func(x *Tx) { x.Insert("Open_vSwitch", nil) }, "constraint violation", "contain 2 rows"},
			{"dangling", func(x *Tx) { x.InsertInto("Open_vSwitch", root, "bridges", ovsdb.UUIDSet(ovsdb.NewUUID())) }, "referential integrity violation", "nonexistent"},
			{"lock", func(x *Tx) { x.Assert("other") }, "not owner", "assert"},
		}
		for _, tt := range tests {
			x := r.Begin()
			tt.do(x)
			err := r.Commit(testContext(t), x)
			var oe *ovsdb.Error
			isOVSDB := errors.As(err, &oe)
			var op *OpError
			switch {
			case err == nil:
				t.Errorf("%s: no error", tt.name)
			case !containsAll(err.Error(), tt.text):
				t.Errorf("%s: %v, want %q", tt.name, err, tt.text)
			case tt.tag != "" && (!isOVSDB || oe.Tag != tt.tag || !errors.As(err, &op)):
				t.Errorf("%s: %#v, want tag %q", tt.name, err, tt.tag)
			}
		}
	})
}

// A change of another client wakes Changed and Wait.
func TestChanged(t *testing.T) {
	forEachServer(t, func(t *testing.T, dial Dialer) {
		a := openReplica(t, dial, Options{Tables: everything})
		b := openReplica(t, dial, Options{Tables: everything})
		<-b.Changed()
		old := b.Snapshot()
		addBridge(t, a, "br0")
		now, err := b.Wait(testContext(t), old)
		if err != nil || now.Named("Bridge", "br0") == nil {
			t.Fatalf("Wait: %v", err)
		}
		select {
		case <-b.Changed():
		case <-testContext(t).Done():
			t.Error("Changed got nothing")
		}
		a.Close()
		b.Close()
		if _, err := b.Wait(testContext(t), now); err == nil {
			t.Error("Wait on a closed replica: no error")
		}
	})
}

func TestReconnect(t *testing.T) {
	forEachServer(t, func(t *testing.T, dial Dialer) {
		var last atomic.Pointer[io.ReadWriteCloser]
		var broken atomic.Bool
		flaky := func(ctx context.Context) (io.ReadWriteCloser, error) {
			if broken.Load() {
				return nil, errors.New("out of order")
			}
			rw, err := dial(ctx)
			if err == nil {
				last.Store(&rw)
			}
			return rw, err
		}
		r := NewReplica(flaky, Options{Tables: everything, Reconnect: true})
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		if _, err := r.Wait(testContext(t), nil); err != nil {
			t.Fatal(err)
		}
		addBridge(t, r, "br0")
		other := openReplica(t, dial, Options{Tables: everything})

		broken.Store(true)
		_ = (*last.Load()).Close()
		for r.Connected() {
			time.Sleep(time.Millisecond)
		}
		old := r.Snapshot()
		if old.Named("Bridge", "br0") == nil {
			t.Error("content is gone while disconnected")
		}
		if err := r.Commit(testContext(t), addComment(r)); !errors.Is(err, ErrDisconnected) {
			t.Errorf("commit while disconnected: %v", err)
		}
		addBridge(t, other, "br1")
		broken.Store(false)
		s, err := r.Wait(testContext(t), old)
		if err != nil || s.Named("Bridge", "br1") == nil || s.Named("Bridge", "br0") == nil {
			t.Errorf("after reconnecting: %v", err)
		}
		addBridge(t, r, "br2")
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
}

func addComment(r *Replica) *Tx {
	x := r.Begin()
	x.Comment("hello")
	return x
}

func TestLock(t *testing.T) {
	forEachServer(t, func(t *testing.T, dial Dialer) {
		o := Options{Tables: everything, Lock: "ovs_vswitchd"}
		a := openReplica(t, dial, o)
		b := openReplica(t, dial, o)
		if !a.HasLock() || b.HasLock() {
			t.Fatalf("locks: %v %v", a.HasLock(), b.HasLock())
		}
		var oe *ovsdb.Error
		if err := b.Commit(testContext(t), addComment(b)); !errors.As(err, &oe) || oe.Tag != "not owner" {
			t.Errorf("commit without the lock: %v", err)
		}
		commit(t, a, addComment(a))
		a.Close()
		for deadline := time.After(10 * time.Second); !b.HasLock(); {
			select {
			case <-b.Changed():
			case <-deadline:
				t.Fatal("the lock was not passed on")
			}
		}
		commit(t, b, addComment(b))
	})
}

func TestBeforeFirstContent(t *testing.T) {
	r := NewReplica(func(context.Context) (io.ReadWriteCloser, error) { return nil, errors.New("no way") }, Options{})
	x := r.Begin()
	x.Insert("Bridge", Columns{"name": ovsdb.Scalar(ovsdb.Str("x"))})
	if _, err := x.Ops(); !errors.Is(err, ErrDisconnected) {
		t.Errorf("got %v", err)
	}
	if err := r.Run(context.Background()); err == nil || err.Error() != "no way" {
		t.Errorf("Run: %v", err)
	}
}

// A server that is silent is given up.
func TestProbe(t *testing.T) {
	silent := func(context.Context) (io.ReadWriteCloser, error) { return deafPipe(t), nil }
	r := NewReplica(silent, Options{Tables: everything, Probe: 20 * time.Millisecond})
	ended := make(chan error, 1)
	go func() { ended <- r.Run(testContext(t)) }()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("Run: no error")
		}
	case <-time.After(10 * time.Second):
		t.Error("a silent server is waited for")
	}
}
