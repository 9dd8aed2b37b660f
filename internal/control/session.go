package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/gvswitch/gvswitch/internal/jsonrpc"
)

// maxPipelined is how many requests of one connection may wait for the one that runs.
const maxPipelined = 64

// setOptions is the command by which a client chooses the form of the replies on its connection, as newer ovs-appctl does for --format.
const setOptions = "set-options"

// session is one connection. Respond runs on the connection's reader, work on its worker; requests is all they share.
type session struct {
	server   *Server
	ctx      context.Context
	requests chan *jsonrpc.Request
	json     bool // only work touches it
}

// HandleRequest is never called, since session is a jsonrpc.Responder; it completes jsonrpc.Handler.
func (*session) HandleRequest(*jsonrpc.Conn, string, json.RawMessage) (any, error) {
	return nil, errors.New("unreachable")
}

// HandleNotify ignores notifications: unixctl has none.
func (*session) HandleNotify(*jsonrpc.Conn, string, json.RawMessage) {}

// Respond queues r for the worker.
func (ses *session) Respond(r *jsonrpc.Request) {
	select {
	case ses.requests <- r:
	default:
		_ = r.Fail(fmt.Errorf("too many requests wait on this connection (%d)", maxPipelined))
	}
}

// work answers requests in their order until there are no more or the context is done. A request that waits when the context ends has
// no reply; its connection is closing.
func (ses *session) work() {
	// Commands may read memory that a guest can take away; that becomes a panic of this goroutine, which answer turns into an error.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for {
		select {
		case <-ses.ctx.Done():
			return
		case r, ok := <-ses.requests:
			if !ok {
				return
			}
			result, err := ses.answer(r.Method, r.Params)
			if err != nil {
				_ = r.Fail(errors.New(lines(err.Error()))) // a failed send ends the connection by itself
				continue
			}
			_ = r.Reply(result)
		}
	}
}

// answer runs one command and returns the reply's result.
func (ses *session) answer(method string, params json.RawMessage) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, fmt.Errorf("%s: internal error: %v", method, p)
		}
	}()
	var args []string
	if len(params) > 0 {
		if err := json.Unmarshal(params, &args); err != nil {
			return nil, fmt.Errorf("%s: the arguments must be strings: %w", method, err)
		}
	}
	c, err := ses.server.registry.find(method, len(args))
	if err != nil {
		return nil, err
	}
	if method == setOptions {
		return "", ses.setOptions(args)
	}
	res, err := c.run(ses.ctx, args)
	switch {
	case err != nil:
		return nil, err
	case !ses.json:
		return lines(res.Text), nil
	case res.Value == nil:
		return plainReply{Format: "plain", Reply: lines(res.Text)}, nil
	default:
		return res.Value, nil
	}
}

// plainReply is how a text goes to a client that asked for JSON, in the words of newer ovs-vswitchd.
type plainReply struct {
	Format string `json:"reply-format"`
	Reply  string `json:"reply"`
}

// setOptions takes "--format text" or "--format json".
func (ses *session) setOptions(args []string) error {
	for i := 0; i < len(args); i++ {
		value, isFormat := strings.CutPrefix(args[i], "--format=")
		switch {
		case isFormat:
		case args[i] == "--format" && i+1 < len(args):
			i++
			value = args[i]
		default:
			return fmt.Errorf("set-options: unknown option %q", args[i])
		}
		switch value {
		case "text", "json":
			ses.json = value == "json"
		default:
			return fmt.Errorf("set-options: format %q is not one of text and json", value)
		}
	}
	return nil
}

// lines ends a text that is not empty with a newline.
func lines(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}
