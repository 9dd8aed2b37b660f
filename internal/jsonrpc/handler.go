package jsonrpc

import (
	"encoding/json"
	"errors"
	"sync/atomic"
)

// Handler answers the peer. Both methods run on the goroutine of Serve, one at
// a time; see the package comment for what they must not do.
type Handler interface {
	// HandleRequest returns the value of the reply's "result", or an error. An
	// *Error is sent as its value, any other error as a string of its text.
	// params may be nil.
	HandleRequest(c *Conn, method string, params json.RawMessage) (result any, err error)
	// HandleNotify is told of a message that wants no reply.
	HandleNotify(c *Conn, method string, params json.RawMessage)
}

// Responder is an optional power of a Handler: if it has this method, Conn
// calls it in place of HandleRequest, and the reply may be given later, from
// any goroutine, through the request.
type Responder interface {
	Respond(r *Request)
}

// HandlerFuncs makes a Handler of two functions; either may be nil. A nil
// Request answers every request with the error "unknown method".
type HandlerFuncs struct {
	Request func(c *Conn, method string, params json.RawMessage) (any, error)
	Notify  func(c *Conn, method string, params json.RawMessage)
}

// HandleRequest implements Handler.
func (h HandlerFuncs) HandleRequest(c *Conn, method string, params json.RawMessage) (any, error) {
	if h.Request == nil {
		return nil, Errorf("unknown method")
	}
	return h.Request(c, method, params)
}

// HandleNotify implements Handler.
func (h HandlerFuncs) HandleNotify(c *Conn, method string, params json.RawMessage) {
	if h.Notify != nil {
		h.Notify(c, method, params)
	}
}

// Request is a request that waits for its reply. Exactly one of Reply and Fail
// takes effect, once; later calls do nothing.
type Request struct {
	Conn   *Conn
	ID     json.RawMessage
	Method string
	Params json.RawMessage

	answered atomic.Bool
}

// Reply sends the result.
func (r *Request) Reply(result any) error {
	if !r.answered.CompareAndSwap(false, true) {
		return nil
	}
	return r.Conn.send(outReply{ID: r.ID, Result: result})
}

// Fail sends an error: an *Error by its value, any other by its text.
func (r *Request) Fail(err error) error {
	if !r.answered.CompareAndSwap(false, true) {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) {
		e = Errorf("%s", err.Error())
	}
	return r.Conn.send(outReply{ID: r.ID, Error: e.Value})
}
