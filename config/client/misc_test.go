package client

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/internal/jsonrpc"
)

func containsAll(text string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}

// deafPipe ends at a server that answers up to the monitor and nothing after.
func deafPipe(t testing.TB) io.ReadWriteCloser {
	_, dial := newServer(t)
	up, err := dial(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	mine, theirs := net.Pipe()
	upstream := NewConn(up)
	go func() {
		dec := json.NewDecoder(theirs)
		enc := json.NewEncoder(theirs)
		for {
			var m struct {
				Method string
				Params json.RawMessage
				ID     json.RawMessage
			}
			if dec.Decode(&m) != nil {
				_ = upstream.Close()
				return
			}
			if m.Method == "echo" {
				continue
			}
			var result json.RawMessage
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			if upstream.Call(ctx, m.Method, m.Params, &result) == nil {
				_ = enc.Encode(map[string]any{"id": m.ID, "result": result, "error": nil})
			}
			cancel()
		}
	}()
	return mine
}

func TestAddress(t *testing.T) {
	for address, want := range map[string]string{
		"": "empty", "ssl:1.2.3.4:6640": "want unix:PATH or tcp:HOST:PORT", "punix:/x": "want unix:PATH",
		"unix:": "want unix:PATH", "tcp:host": "missing port", "tcp:[::1]:6640": "", "tcp:127.0.0.1:6640": "",
		"unix:/run/db.sock": "", "/run/db.sock": "", "db.sock": "", "/odd:name": "",
	} {
		_, err := Address(address)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", address, err, want)
		}
	}
}

func TestConn(t *testing.T) {
	_, dial := newServer(t)
	rw, err := dial(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	c := NewConn(rw)
	defer c.Close()
	names, err := c.Databases(testContext(t))
	if err != nil || len(names) != 2 || names[0] != "Open_vSwitch" {
		t.Errorf("databases %v, %v", names, err)
	}
	if _, err := c.Schema(testContext(t), "Nope"); err == nil || !strings.Contains(err.Error(), "unknown database") {
		t.Errorf("schema of an unknown database: %v", err)
	}
	if _, err := Dial(testContext(t), "unix:"+t.TempDir()+"/none"); err == nil {
		t.Error("dial of nothing: no error")
	}
}

// An update that cannot be is the end of the connection, not of the process.
func TestBadUpdates(t *testing.T) {
	for _, params := range []string{
		`[]`, `["gvswitch"]`, `5`, `["gvswitch","x",5]`, `["gvswitch","x",{"Nope":{}}]`, `["gvswitch","x",{"Bridge":5}]`,
		`["gvswitch","x",{"Bridge":{"x":{}}}]`, `["gvswitch","x",{"Bridge":{"550e8400-e29b-41d4-a716-446655440000":5}}]`,
		`["gvswitch","x",{"Bridge":{"550e8400-e29b-41d4-a716-446655440000":{"modify":{}}}}]`,
		`["gvswitch","x",{"Bridge":{"550e8400-e29b-41d4-a716-446655440000":{"insert":{"name":5}}}}]`,
		`["gvswitch","x",{"Bridge":{"550e8400-e29b-41d4-a716-446655440000":{"insert":{"nope":5}}}}]`,
		`["gvswitch",5,{}]`,
	} {
		_, dial := newServer(t)
		up, err := dial(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		mine, theirs := net.Pipe()
		p := &proxy{up: NewConn(up).rpc}
		p.down = jsonrpc.NewConn(theirs, p)
		go func() { _ = p.down.Serve(context.Background()) }()
		r := openReplica(t, func(context.Context) (io.ReadWriteCloser, error) { return mine, nil }, Options{Tables: everything})
		now := r.Snapshot()
		_ = p.down.Notify("update3", json.RawMessage(params))
		if _, err := r.Wait(testContext(t), now); err == nil {
			t.Errorf("%s: was taken", params)
		}
		_ = p.up.Close()
		_ = p.down.Close()
	}
}
