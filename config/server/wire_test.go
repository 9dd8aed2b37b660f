package server_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/config/internal/ovstest"
	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/config/server"
)

var rewrite = flag.Bool("rewrite", false, "write what ovsdb-server answers into testdata/sessions.txt")

const (
	sessions   = "testdata/sessions.txt"
	testSchema = "../ovsdb/testdata/test.ovsschema"
)

// A session file has one request a line: CLIENT METHOD PARAMS. After it stand
// the messages that came, "CLIENT< ...": first the notifications before the
// reply, in order of text because the order between monitors is chance, then
// the reply, then what the other clients got. METHOD with a "!" is not waited
// for; with a "~" it is a notification. A "^" at its end says that it ends a wait: the
// answer to the request with "!" is waited for. "reset" starts new clients on a new
// database.
func play(t *testing.T, text string, start func() func() net.Conn) string {
	t.Helper()
	var out strings.Builder
	var dial func() net.Conn
	var clients map[string]*wireClient
	names := ovstest.NewNames()
	for line := range strings.SplitSeq(text, "\n") {
		fields := strings.SplitN(line, " ", 3)
		switch {
		case strings.Contains(fields[0], "<"), line == "":
			continue
		case strings.HasPrefix(line, "#"):
			out.WriteString("\n" + line + "\n")
			continue
		case line == "reset":
			dial, clients, names = start(), map[string]*wireClient{}, ovstest.NewNames()
			out.WriteString(line + "\n")
			continue
		case len(fields) != 3:
			t.Fatalf("bad line %q", line)
		}
		out.WriteString(line + "\n")
		for _, name := range []string{"a", "b", "c"} {
			if clients[name] == nil {
				clients[name] = newWireClient(t, name, dial())
			}
		}
		c := clients[fields[0]]
		method, ends := strings.CutSuffix(fields[1], "^")
		params := names.Expand(fields[2])
		switch {
		case strings.HasSuffix(method, "~"):
			c.send(`{"method":%q,"params":%s,"id":null}`, method[:len(method)-1], params)
		case strings.HasSuffix(method, "!"):
			c.send(`{"method":%q,"params":%s,"id":"w"}`, method[:len(method)-1], params)
			c.waits = true
		default:
			c.send(`{"method":%q,"params":%s,"id":"r"}`, method, params)
			notes, reply := c.until("r")
			if method == "transact" {
				ops, _ := ovsdb.DecodeJSON([]byte(params))
				names.Learn(ovsdb.Canonical(ops.([]any)[1:]), reply["result"])
			}
			writeNotes(&out, c, names, notes)
			fmt.Fprintf(&out, "%s< %s\n", c.name, showReply(names, reply))
		}
		for _, name := range []string{"a", "b", "c"} {
			c := clients[name]
			var notes []map[string]any
			if ends && c.waits {
				before, reply := c.until("w")
				notes, c.waits = append(before, reply), false
			}
			c.send(`{"method":"echo","params":[],"id":"sync"}`)
			more, _ := c.until("sync")
			notes = append(notes, more...)
			writeNotes(&out, c, names, notes)
		}
	}
	return strings.TrimPrefix(out.String(), "\n")
}

func writeNotes(out *strings.Builder, c *wireClient, names *ovstest.Names, notes []map[string]any) {
	var lines []string
	for _, n := range notes {
		if n["method"] == nil {
			lines = append(lines, "late "+showReply(names, n))
		} else {
			lines = append(lines, fmt.Sprint(n["method"], " ", names.Hide(n["params"])))
		}
	}
	slices.Sort(lines)
	for _, l := range lines {
		fmt.Fprintf(out, "%s< %s\n", c.name, l)
	}
}

func showReply(names *ovstest.Names, m map[string]any) string {
	if m["error"] != nil {
		return "error " + names.Hide(m["error"])
	}
	return "reply " + names.Hide(m["result"])
}

type wireClient struct {
	t    *testing.T
	name string
	conn net.Conn
	dec  *json.Decoder

	waits bool // a request with "!" is not answered yet
}

func newWireClient(t *testing.T, name string, c net.Conn) *wireClient {
	t.Cleanup(func() { _ = c.Close() })
	d := json.NewDecoder(c)
	d.UseNumber()
	return &wireClient{t: t, name: name, conn: c, dec: d}
}

func (c *wireClient) send(format string, args ...any) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.conn, format, args...); err != nil {
		c.t.Fatal(err)
	}
}

// until reads up to the reply of that ID.
func (c *wireClient) until(id string) (before []map[string]any, reply map[string]any) {
	c.t.Helper()
	_ = c.conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	for {
		var m map[string]any
		if err := c.dec.Decode(&m); err != nil {
			c.t.Fatalf("client %s waiting for reply %s: %v", c.name, id, err)
		}
		if m["id"] == id && m["method"] == nil {
			return before, m
		}
		before = append(before, m)
	}
}

func readSessions(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(sessions)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Every message is as the file says.
func TestSessions(t *testing.T) {
	text := readSessions(t)
	schemaText, err := os.ReadFile(testSchema)
	if err != nil {
		t.Fatal(err)
	}
	got := play(t, text, func() func() net.Conn {
		sch, err := ovsdb.ParseSchema(schemaText)
		if err != nil {
			t.Fatal(err)
		}
		s := server.New()
		if err := s.Add(ovsdb.NewDB(sch), nil); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return func() net.Conn {
			mine, theirs := net.Pipe()
			go func() { _ = s.ServeConn(context.Background(), theirs) }()
			return mine
		}
	})
	compare(t, got, text)
}

// And so it is with Debian's ovsdb-server.
func TestSessionsAreOvsdbServers(t *testing.T) {
	text := readSessions(t)
	got := play(t, text, func() func() net.Conn {
		socket := ovstest.StartServer(t, testSchema)
		return func() net.Conn {
			c, err := net.Dial("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
	})
	if *rewrite {
		if err := os.WriteFile(sessions, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	compare(t, got, text)
}

func compare(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("line %d: got\n%s\nwant\n%s", i+1, strings.Join(g[max(0, i-2):min(len(g), i+3)], "\n"), w[i])
		}
	}
	if len(g) != len(w) {
		t.Errorf("got %d lines, want %d", len(g), len(w))
	}
}
