package vsctl

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// memory is a Database without a server. Before the transaction with the number of the key, meddle runs, as another client would.
type memory struct {
	t      *testing.T
	db     *ovsdb.DB
	number uint64
	seen   Snapshot // what Snapshot gives until Wait

	sent   int
	meddle map[int]string
	last   []any // operations of the last transaction
}

func newMemory(t *testing.T) *memory {
	m := &memory{t: t, db: ovsdb.NewDB(schema(t)), meddle: make(map[int]string)}
	m.refresh()
	return m
}

func (m *memory) refresh() {
	m.number++
	m.seen = make(Snapshot)
	for name, table := range m.db.Schema().Tables {
		m.seen[name] = make(map[ovsdb.UUID]Row)
		for id, r := range m.db.Rows(table) {
			row := make(Row)
			for _, c := range userColumns(table) {
				row[c.Name] = r.Get(c)
			}
			m.seen[name][id] = row
		}
	}
}

func (m *memory) Schema() *ovsdb.Schema { return m.db.Schema() }

func (m *memory) Monitor(context.Context, map[string][]string) error { return nil }

func (m *memory) Snapshot() (Snapshot, uint64) { return maps.Clone(m.seen), m.number }

func (m *memory) Wait(context.Context, uint64) error {
	m.refresh()
	return nil
}

func (m *memory) Transact(_ context.Context, ops []any) ([]json.RawMessage, error) {
	m.sent++
	if line, ok := m.meddle[m.sent]; ok {
		stale := m.seen
		m.refresh()
		m.run(line)
		m.seen = stale
	}
	m.last = ops
	return m.execute(ops), nil
}

// execute gives the operations to the database the way that they would go over the wire.
func (m *memory) execute(ops []any) []json.RawMessage {
	m.t.Helper()
	b, err := ovsdb.EncodeJSON(ops)
	if err != nil {
		m.t.Fatal(err)
	}
	generic, err := ovsdb.DecodeJSON(b)
	if err != nil {
		m.t.Fatal(err)
	}
	out := m.db.Execute(generic.([]any), ovsdb.Env{})
	replies := make([]json.RawMessage, len(out.Results))
	for i, r := range out.Results {
		if replies[i], err = ovsdb.EncodeJSON(r); err != nil {
			m.t.Fatal(err)
		}
	}
	return replies
}

// run executes a line of commands as another client.
func (m *memory) run(line string) {
	m.t.Helper()
	other := &memory{t: m.t, db: m.db, meddle: map[int]string{}}
	other.refresh()
	if _, err := other.session(line); err != nil {
		m.t.Fatalf("%s: %v", line, err)
	}
	m.number++
}

func (m *memory) session(line string) (string, error) {
	commands, err := Parse(strings.Fields(line), nil)
	if err != nil {
		return "", err
	}
	result, err := NewSession(m, Options{NoWait: true, Style: Style{Format: "list", Data: "string"}}, commands).Run(m.t.Context())
	if err != nil {
		return "", err
	}
	return string(result.Output), nil
}

// Another client changes the database between our look at it and our change: we look again.
func TestStaleSnapshot(t *testing.T) {
	for _, c := range []struct {
		name, ours, theirs string
		look, want         string
		wantErr            string
		tries              int
	}{
		{
			name: "add to a column that has grown", ours: "add Bridge br0 flood_vlans 1", theirs: "add Bridge br0 flood_vlans 2",
			look: "get Bridge br0 flood_vlans", want: "[1, 2]\n", tries: 2,
		},
		{
			name: "another key of a map", ours: "set Bridge br0 other_config:a=1", theirs: "set Bridge br0 other_config:b=2",
			look: "get Bridge br0 other_config", want: "{a=\"1\", b=\"2\"}\n", tries: 1,
		},
		{
			name: "the same key of a map", ours: "set Bridge br0 other_config:a=1", theirs: "set Bridge br0 other_config:a=2",
			look: "get Bridge br0 other_config", want: "{a=\"1\"}\n", tries: 1,
		},
		{
			name: "another port", ours: "add-port br0 p1", theirs: "add-port br0 p2",
			look: "list-ports br0", want: "p0\np1\np2\n", tries: 1,
		},
		{
			name: "the same port", ours: "add-port br0 p1", theirs: "add-port br0 p1",
			wantErr: "cannot create a port named p1 because a port named p1 already exists on bridge br0", tries: 1,
		},
		{
			name: "the bridge has gone", ours: "add-port br0 p1", theirs: "del-br br0",
			wantErr: "no bridge named br0", tries: 1,
		},
		{
			name: "the record has gone", ours: "set Interface p0 type=tap", theirs: "del-port p0",
			wantErr: `no row "p0" in table Interface`, tries: 1,
		},
		{
			name: "what was read has changed", ours: "get Bridge br0 fail_mode -- set Bridge br0 other_config:x=y", theirs: "set-fail-mode br0 secure",
			look: "get Bridge br0 fail_mode", want: "secure\n", tries: 2,
		},
		{
			name: "the VLAN is taken", ours: "add-br f1 br0 5", theirs: "add-br f2 br0 5",
			wantErr: "bridge br0 already has a child VLAN bridge f2 on VLAN 5", tries: 1,
		},
		{
			name: "two ports deleted", ours: "del-port p0", theirs: "add-port br0 p1 -- add-port br0 p2 -- del-port p1",
			look: "list-ports br0", want: "p2\n", tries: 1,
		},
		{
			name: "the last interface but one", ours: "del-bond-iface e0", theirs: "del-bond-iface e1",
			wantErr: "cannot delete last interface from port bond0", tries: 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMemory(t)
			m.run("add-br br0 -- add-port br0 p0")
			if strings.Contains(c.ours, "bond") {
				m.run("add-bond br0 bond0 e0 e1")
			}
			m.refresh()
			m.meddle[1] = c.theirs
			_, err := m.session(c.ours)
			if c.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Errorf("got error %v, want %s", err, c.wantErr)
				}
			} else if err != nil {
				t.Error(err)
			}
			if m.sent != c.tries {
				t.Errorf("%d transactions, want %d", m.sent, c.tries)
			}
			if c.look != "" {
				m.refresh()
				if got, err := m.session(c.look); got != c.want || err != nil {
					t.Errorf("%s: %q, %v; want %q", c.look, got, err, c.want)
				}
			}
		})
	}
}

// What does not change anything is not sent.
func TestNothingToSend(t *testing.T) {
	m := newMemory(t)
	m.run("add-br br0 -- add-port br0 p0 tag=1")
	m.refresh()
	for _, line := range []string{
		"show", "list Port", "set Port p0 tag=1", "--may-exist add-br br0", "--if-exists del-port nosuch", "comment hi",
		"set Port p0 tag=2 -- set Port p0 tag=1", "add-port br0 p9 -- del-port p9", "set Bridge br0 other_config={}",
	} {
		if _, err := m.session(line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if m.sent != 0 {
			t.Errorf("%s: sent %v", line, m.last)
			m.sent = 0
		}
	}
}

// The operations for a port are a handful, however many ports there are.
func TestTransactionSize(t *testing.T) {
	m := newMemory(t)
	m.run("add-br br0")
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		m.run("add-port br0 " + name)
	}
	m.refresh()
	if _, err := m.session("add-port br0 one-more tag=5 type=tap"); err != nil {
		t.Fatal(err)
	}
	text := ovsdb.Canonical(m.last)
	if len(m.last) > 4 || strings.Contains(text, `"set"`) {
		t.Errorf("%d operations: %s", len(m.last), text)
	}
}

type broken struct{ *memory }

func (broken) Transact(context.Context, []any) ([]json.RawMessage, error) {
	return nil, errors.New("line cut")
}

func TestBrokenDatabase(t *testing.T) {
	commands, err := Parse([]string{"add-br", "br0"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewSession(broken{newMemory(t)}, Options{}, commands).Run(t.Context()); err == nil || err.Error() != "line cut" {
		t.Errorf("got %v", err)
	}
	other, err := ovsdb.ParseSchema([]byte(`{"name":"X","tables":{"T":{"columns":{"r":{"type":"real"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	m := &memory{t: t, db: ovsdb.NewDB(other)}
	m.refresh()
	if _, err := NewSession(m, Options{}, commands).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "database X lacks the table Open_vSwitch") {
		t.Errorf("got %v", err)
	}
}
