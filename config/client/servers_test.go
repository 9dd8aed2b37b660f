package client

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/config/internal/ovstest"
	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/config/schema"
	"github.com/gvswitch/gvswitch/config/server"
	"github.com/gvswitch/gvswitch/internal/jsonrpc"
)

// newServer makes a server of an Open_vSwitch database in memory.
func newServer(t testing.TB) (*server.Server, Dialer) {
	t.Helper()
	s := server.New()
	if err := s.Add(ovsdb.NewDB(schema.OpenVSwitch()), nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, func(context.Context) (io.ReadWriteCloser, error) {
		mine, theirs := net.Pipe()
		go func() { _ = s.ServeConn(context.Background(), theirs) }()
		return mine, nil
	}
}

// forEachServer runs a test with our server, Debian's, and ours without the
// newer methods.
func forEachServer(t *testing.T, f func(t *testing.T, dial Dialer)) {
	t.Run("ours", func(t *testing.T) {
		_, dial := newServer(t)
		f(t, dial)
	})
	t.Run("ovsdb-server", func(t *testing.T) {
		dial, err := Address("unix:" + ovstest.StartServer(t, "../schema/vswitch.ovsschema"))
		if err != nil {
			t.Fatal(err)
		}
		f(t, dial)
	})
	t.Run("no monitor_cond_since", func(t *testing.T) {
		_, dial := newServer(t)
		f(t, without(dial, "monitor_cond_since"))
	})
	t.Run("RFC 7047 only", func(t *testing.T) {
		_, dial := newServer(t)
		f(t, without(dial, "monitor_cond_since", "monitor_cond"))
	})
}

// without dials a server that does not know some methods.
func without(dial Dialer, methods ...string) Dialer {
	missing := make(map[string]bool)
	for _, m := range methods {
		missing[m] = true
	}
	return func(ctx context.Context) (io.ReadWriteCloser, error) {
		rw, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		mine, theirs := net.Pipe()
		p := &proxy{missing: missing}
		p.down = jsonrpc.NewConn(theirs, p)
		p.up = jsonrpc.NewConn(rw, jsonrpc.HandlerFuncs{
			Notify: func(_ *jsonrpc.Conn, method string, params json.RawMessage) { _ = p.down.Notify(method, params) },
		})
		go func() { _ = p.up.Serve(context.Background()); _ = p.down.Close() }()
		go func() { _ = p.down.Serve(context.Background()); _ = p.up.Close() }()
		return mine, nil
	}
}

type proxy struct {
	jsonrpc.HandlerFuncs
	up, down *jsonrpc.Conn
	missing  map[string]bool
}

func (p *proxy) Respond(r *jsonrpc.Request) {
	if p.missing[r.Method] {
		_ = r.Fail(jsonrpc.Errorf("unknown method"))
		return
	}
	p.up.Go(r.Method, r.Params, func(result json.RawMessage, err error) {
		if err != nil {
			_ = r.Fail(err)
			return
		}
		_ = r.Reply(result)
	})
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func openReplica(t testing.TB, dial Dialer, o Options) *Replica {
	t.Helper()
	r, err := Open(testContext(t), dial, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}
