package ovsdb_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/config/internal/ovstest"
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
		func() {
			c, err := net.Dial("unix", ovstest.StartServer(t, "testdata/test.ovsschema"))
			if err != nil {
				t.Fatal(err)
			}
			conn = jsonrpc.NewConn(c, nil)
			go func() { _ = conn.Serve(context.Background()) }()
			t.Cleanup(func() { _ = conn.Close() })
		},
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
