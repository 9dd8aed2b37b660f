package ovsdb_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/internal/jsonrpc"
)

const transactions = "testdata/transactions.txt"

// decoded takes a value over the wire.
func decoded(t testing.TB, v any) any {
	t.Helper()
	b, err := ovsdb.EncodeJSON(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := ovsdb.DecodeJSON(b)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func decodeOps(t testing.TB, ops string) []any {
	t.Helper()
	v, err := ovsdb.DecodeJSON([]byte(ops))
	if err != nil {
		t.Fatalf("%s: %v", ops, err)
	}
	return v.([]any)
}

// The engine answers every transaction of the file as written there.
func TestTransactions(t *testing.T) {
	text, err := os.ReadFile(transactions)
	if err != nil {
		t.Fatal(err)
	}
	schema := readSchema(t, "testdata/test.ovsschema")
	db := ovsdb.NewDB(schema)
	got := transcript(t, string(text),
		func() { db = ovsdb.NewDB(schema) },
		func(ops string) any {
			out := db.Execute(decodeOps(t, ops), ovsdb.Env{})
			if out.Blocked {
				return "blocked"
			}
			return decoded(t, out.Results)
		})
	compareText(t, got, string(text))
}

// Debian's ovsdb-server answers them in the same way, so the file is right.
func TestTransactionsAreOvsdbServers(t *testing.T) {
	text, err := os.ReadFile(transactions)
	if err != nil {
		t.Fatal(err)
	}
	var conn *jsonrpc.Conn
	got := transcript(t, string(text),
		func() { conn = startOvsdbServer(t, "testdata/test.ovsschema") },
		func(ops string) any {
			var reply json.RawMessage
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			if err := conn.Call(ctx, "transact", append([]any{"Test"}, decodeOps(t, ops)...), &reply); err != nil {
				t.Fatalf("%s: %v", ops, err)
			}
			v, err := ovsdb.DecodeJSON(reply)
			if err != nil {
				t.Fatal(err)
			}
			return v
		})
	if *rewrite {
		if err := os.WriteFile(transactions, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	compareText(t, got, string(text))
}

// startOvsdbServer runs Debian's server on a new database until the test ends.
func startOvsdbServer(t *testing.T, schema string) *jsonrpc.Conn {
	t.Helper()
	dir := t.TempDir()
	file, sock := filepath.Join(dir, "conf.db"), filepath.Join(dir, "db.sock")
	if out, err := exec.Command("ovsdb-tool", "create", file, schema).CombinedOutput(); err != nil {
		t.Fatalf("ovsdb-tool: %v: %s", err, out)
	}
	cmd := exec.Command("ovsdb-server", "--remote=punix:"+sock, "--unixctl="+filepath.Join(dir, "ctl"),
		"--log-file="+filepath.Join(dir, "log"), file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for range 200 {
		if c, err := net.Dial("unix", sock); err == nil {
			conn := jsonrpc.NewConn(c, nil)
			go func() { _ = conn.Serve(context.Background()) }()
			t.Cleanup(func() { _ = conn.Close() })
			return conn
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("ovsdb-server does not listen")
	return nil
}
