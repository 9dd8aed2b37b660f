package server

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/internal/jsonrpc"
)

// acceptPause is how long a failing accept is left alone.
const acceptPause = 100 * time.Millisecond

// sleep waits, and reports false if ctx ended it.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// session is one client. The server's mutex guards it.
type session struct {
	server   *Server
	conn     *jsonrpc.Conn
	monitors map[string]*monitor // by ID as canonical JSON
	pending  map[string]*pending // transactions that wait, by request ID
	locks    map[string]*lock    // held or waited for
}

// methods are RFC 7047 section 4.1 and ovsdb-server(7). "echo" is the
// connection's.
var methods = map[string]func(ss *session, r *jsonrpc.Request, params []any) (any, error){
	"list_dbs":            (*session).listDBs,
	"get_schema":          (*session).getSchema,
	"get_server_id":       (*session).getServerID,
	"set_db_change_aware": (*session).setDBChangeAware,
	"transact":            (*session).transact,
	"monitor":             (*session).monitor,
	"monitor_cond":        (*session).monitorCond,
	"monitor_cond_since":  (*session).monitorCondSince,
	"monitor_cond_change": (*session).monitorCondChange,
	"monitor_cancel":      (*session).monitorCancel,
	"lock":                (*session).lock,
	"steal":               (*session).steal,
	"unlock":              (*session).unlock,
	"convert":             (*session).convert,
}

// later is the result of a request that is answered by other means.
type later struct{}

// Respond implements jsonrpc.Responder.
func (ss *session) Respond(r *jsonrpc.Request) {
	method := methods[r.Method]
	if method == nil {
		_ = r.Fail(jsonrpc.Errorf("unknown method"))
		return
	}
	params, err := decodeParams(r.Params)
	if err != nil {
		_ = r.Fail(wireError(err))
		return
	}
	ss.server.mu.Lock()
	defer ss.server.mu.Unlock()
	result, err := method(ss, r, params)
	if err != nil {
		_ = r.Fail(wireError(err))
		return
	}
	if _, wait := result.(later); !wait {
		_ = r.Reply(result)
	}
}

// HandleRequest implements jsonrpc.Handler; Respond is called in its place.
func (ss *session) HandleRequest(*jsonrpc.Conn, string, json.RawMessage) (any, error) {
	return nil, jsonrpc.Errorf("unknown method")
}

// HandleNotify implements jsonrpc.Handler: "cancel" (RFC 7047 section 4.1.4).
func (ss *session) HandleNotify(_ *jsonrpc.Conn, method string, raw json.RawMessage) {
	params, err := decodeParams(raw)
	if method != "cancel" || err != nil || len(params) != 1 {
		return
	}
	ss.server.mu.Lock()
	defer ss.server.mu.Unlock()
	if p := ss.pending[ovsdb.Canonical(params[0])]; p != nil {
		p.drop()
		_ = p.request.Fail(jsonrpc.Errorf("canceled"))
	}
}

func decodeParams(raw json.RawMessage) ([]any, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	v, err := ovsdb.DecodeJSON(raw)
	if err != nil {
		return nil, syntaxError(string(raw), "%v", err)
	}
	list, ok := v.([]any)
	if !ok {
		return nil, syntaxError(v, "params must be an array")
	}
	return list, nil
}

func syntaxError(v any, format string, args ...any) error {
	return &ovsdb.Error{Tag: "syntax error", Details: fmt.Sprintf(format, args...), Syntax: ovsdb.Canonical(v)}
}

// wireError gives an error of the engine its form in a reply.
func wireError(err error) error {
	e, ok := err.(*ovsdb.Error)
	if !ok {
		return err
	}
	b, _ := ovsdb.EncodeJSON(e)
	return &jsonrpc.Error{Value: b}
}

// database finds the one that the first parameter names.
func (ss *session) database(r *jsonrpc.Request, params []any) (*database, error) {
	name, ok := "", false
	if len(params) > 0 {
		name, ok = params[0].(string)
	}
	if !ok {
		return nil, syntaxError(params, "%s request params must begin with <db-name>", r.Method)
	}
	d := ss.server.dbs[name]
	if d == nil {
		return nil, &ovsdb.Error{
			Tag:     "unknown database",
			Details: fmt.Sprintf("%s request specifies unknown database %s", r.Method, name),
			Syntax:  ovsdb.Canonical(params),
		}
	}
	return d, nil
}

func (ss *session) listDBs(*jsonrpc.Request, []any) (any, error) { return ss.server.names(), nil }

func (ss *session) getSchema(r *jsonrpc.Request, params []any) (any, error) {
	d, err := ss.database(r, params)
	if err != nil {
		return nil, err
	}
	return d.db.Schema().JSON(), nil
}

func (ss *session) getServerID(*jsonrpc.Request, []any) (any, error) {
	return ss.server.id.String(), nil
}

// setDBChangeAware needs no memory: databases neither come nor go.
func (ss *session) setDBChangeAware(_ *jsonrpc.Request, params []any) (any, error) {
	if len(params) == 1 {
		if _, ok := params[0].(bool); ok {
			return struct{}{}, nil
		}
	}
	return nil, syntaxError(params, "set_db_change_aware: true or false parameter expected")
}

func (ss *session) convert(*jsonrpc.Request, []any) (any, error) {
	return nil, &ovsdb.Error{Tag: "not supported", Details: "the schema is part of the switch and cannot be changed"}
}

// end forgets everything of a client that is gone.
func (ss *session) end() {
	for _, p := range ss.pending {
		p.drop()
	}
	for _, m := range ss.monitors {
		m.cancel()
	}
	for _, l := range ss.locks {
		ss.release(l)
	}
}
