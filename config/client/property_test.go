package client

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/config/schema"
	"github.com/gvswitch/gvswitch/config/server"
	"github.com/gvswitch/gvswitch/config/store"
)

// randomOps is a transaction that makes, links, changes and deletes bridges,
// ports, interfaces and mirrors at random; many fail, as they should.
func randomOps(rng *rand.Rand, s *Snapshot) []any {
	pick := func(table string) any {
		rows := s.Rows(table)
		if len(rows) == 0 || rng.IntN(8) == 0 {
			return []any{"named-uuid", fmt.Sprintf("%s%d", table[:1], rng.IntN(3))}
		}
		return []any{"uuid", rows[rng.IntN(len(rows))].UUID().String()}
	}
	some := func(table string) any {
		set := []any{}
		for range rng.IntN(3) {
			if p := pick(table); !slices.ContainsFunc(set, func(q any) bool { return fmt.Sprint(p) == fmt.Sprint(q) }) {
				set = append(set, p)
			}
		}
		return []any{"set", set}
	}
	row := func(table string) map[string]any {
		switch table {
		case "Open_vSwitch":
			return map[string]any{"bridges": some("Bridge"), "next_cfg": rng.IntN(100), "other_config": []any{"map", []any{[]any{"k", fmt.Sprint(rng.IntN(9))}}}}
		case "Bridge":
			return map[string]any{"ports": some("Port"), "mirrors": some("Mirror"), "flood_vlans": []any{"set", []any{rng.IntN(100), 100 + rng.IntN(9)}}}
		case "Port":
			return map[string]any{"interfaces": some("Interface"), "tag": rng.IntN(4100)}
		case "Mirror":
			return map[string]any{"select_dst_port": some("Port"), "output_port": pick("Port")}
		default:
			return map[string]any{"ofport": rng.IntN(99), "statistics": []any{"map", []any{[]any{"rx", rng.IntN(9)}}}}
		}
	}
	tables := []string{"Open_vSwitch", "Bridge", "Port", "Interface", "Mirror"}
	var ops []any
	for range 1 + rng.IntN(5) {
		table := tables[rng.IntN(len(tables))]
		where := []any{[]any{"_uuid", "==", pick(table)}}
		switch rng.IntN(8) {
		case 0, 1, 2:
			r := row(table)
			if table != "Open_vSwitch" {
				r["name"] = fmt.Sprintf("%s%d", table, rng.IntN(12))
			}
			ops = append(ops, map[string]any{"op": "insert", "table": table, "row": r, "uuid-name": fmt.Sprintf("%s%d", table[:1], rng.IntN(3))})
		case 3:
			ops = append(ops, map[string]any{"op": "delete", "table": table, "where": where})
		case 4, 5:
			ops = append(ops, map[string]any{"op": "update", "table": table, "where": where, "row": row(table)})
		default:
			column, target := "bridges", "Bridge"
			if table == "Bridge" {
				column, target = "ports", "Port"
			} else if table != "Open_vSwitch" {
				continue
			}
			mutator := []string{"insert", "delete"}[rng.IntN(2)]
			ops = append(ops, map[string]any{"op": "mutate", "table": table, "where": where, "mutations": []any{[]any{column, mutator, pick(target)}}})
		}
	}
	return ops
}

// After every random transaction: references lead to rows, everything outside
// the root set is referred to, limits and indexes hold, replicas over all kinds
// of monitors equal the database, and so does the file.
func TestRandomTransactions(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	path := filepath.Join(t.TempDir(), "conf.db")
	st, err := store.Open(path, schema.OpenVSwitch())
	if err != nil {
		t.Fatal(err)
	}
	s := server.New()
	if err := s.Add(st.DB(), st.Commit); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	dial := func(context.Context) (io.ReadWriteCloser, error) {
		mine, theirs := net.Pipe()
		go func() { _ = s.ServeConn(context.Background(), theirs) }()
		return mine, nil
	}
	all := map[string][]string{"Open_vSwitch": nil, "Bridge": nil, "Port": nil, "Interface": nil, "Mirror": nil}
	replicas := []*Replica{
		openReplica(t, dial, Options{Tables: all}),
		openReplica(t, without(dial, "monitor_cond_since"), Options{Tables: all}),
		openReplica(t, without(dial, "monitor_cond_since", "monitor_cond"), Options{Tables: all}),
	}
	rw, _ := dial(context.Background())
	c := NewConn(rw)
	defer c.Close()
	done, rounds := 0, 400
	for range rounds {
		if _, err := c.Transact(testContext(t), "Open_vSwitch", randomOps(rng, replicas[0].Snapshot())); err == nil {
			done++
		}
		var want string
		s.Inspect("Open_vSwitch", func(db *ovsdb.DB) {
			checkReferences(t, db)
			want = content(db, true, all)
		})
		for i, r := range replicas {
			settle(t, r)
			if got := snapshotContent(r.Snapshot()); got != want {
				t.Fatalf("replica %d:\n%s\nwant\n%s", i, got, want)
			}
		}
	}
	t.Logf("%d of %d transactions went through", done, rounds)
	if done < rounds/20 {
		t.Errorf("only %d of %d transactions went through, the test is too timid", done, rounds)
	}
	var want string
	s.Inspect("Open_vSwitch", func(db *ovsdb.DB) { want = content(db, false, all) })
	db, err := store.ReadOVSDBFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := content(db, false, all); got != want {
		t.Errorf("file:\n%s\nwant\n%s", got, want)
	}
}

// settle waits until the replica has handled everything sent so far.
func settle(t *testing.T, r *Replica) {
	t.Helper()
	if err := r.current().Call(testContext(t), "list_dbs", nil, nil); err != nil {
		t.Fatal(err)
	}
}

func checkReferences(t *testing.T, db *ovsdb.DB) {
	t.Helper()
	referred := make(map[string]bool)
	names := make(map[string]bool)
	for name, tab := range db.Schema().Tables {
		if n := len(db.Rows(tab)); n > tab.MaxRows {
			t.Fatalf("%d rows in %s", n, name)
		}
		for _, r := range db.Rows(tab) {
			if c := tab.Column("name"); c != nil && len(tab.Indexes) > 0 {
				key := name + " " + r.Get(c).Str()
				if names[key] {
					t.Fatalf("%s twice", key)
				}
				names[key] = true
			}
			for _, c := range tab.Columns[2:] {
				if c.Type.Key.RefTable == "" {
					continue
				}
				for _, id := range r.Get(c).UUIDs() {
					if db.Row(db.Schema().Tables[c.Type.Key.RefTable], id) == nil {
						t.Fatalf("%s.%s of %s leads nowhere", name, c.Name, r.UUID())
					}
					if c.Type.Key.Strong {
						referred[c.Type.Key.RefTable+id.String()] = true
					}
				}
			}
		}
	}
	for name, tab := range db.Schema().Tables {
		for id := range db.Rows(tab) {
			if !tab.IsRoot && !referred[name+id.String()] {
				t.Fatalf("%s %s is referred to by nobody", name, id)
			}
		}
	}
}

// content is the tables as text, with or without ephemeral columns.
func content(db *ovsdb.DB, ephemeral bool, tables map[string][]string) string {
	var lines []string
	for name := range tables {
		tab := db.Schema().Tables[name]
		for id, r := range db.Rows(tab) {
			for _, c := range tab.Columns[2:] {
				if ephemeral || !c.Ephemeral {
					lines = append(lines, fmt.Sprintf("%s %s %s %s", name, id, c.Name, r.Get(c)))
				}
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func snapshotContent(s *Snapshot) string {
	var lines []string
	for name, rows := range s.tables {
		for id, r := range rows {
			for column, d := range r.Columns() {
				lines = append(lines, fmt.Sprintf("%s %s %s %s", name, id, column, d))
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
