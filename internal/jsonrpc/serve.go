package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// limitReader lets the decoder read up to allowed bytes in all.
type limitReader struct {
	r       io.Reader
	read    int64
	allowed int64
}

func (l *limitReader) Read(p []byte) (int, error) {
	left := l.allowed - l.read
	if left <= 0 {
		return 0, ErrTooLarge
	}
	if int64(len(p)) > left {
		p = p[:left]
	}
	n, err := l.r.Read(p)
	l.read += int64(n)
	return n, err
}

// Serve reads and handles messages until the peer closes (it returns nil), ctx
// is done (its error), Close is called (ErrClosed) or the stream breaks the
// rules. It must be called once; the connection is closed when it returns.
// "echo" (RFC 7047 section 4.1.11) is answered here, so that a peer may probe
// any connection.
func (c *Conn) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { c.shutdown(context.Cause(ctx)) })
	defer stop()
	lr := &limitReader{r: c.rw}
	dec := json.NewDecoder(lr)
	for {
		lr.allowed = dec.InputOffset() + c.maxMessage
		var m wireMessage
		err := dec.Decode(&m)
		if err == nil {
			err = c.dispatch(&m)
		}
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) {
			fctx, cancel := context.WithTimeout(ctx, flushTimeout)
			_ = c.Flush(fctx)
			cancel()
			c.shutdown(io.EOF)
		}
		c.shutdown(err)
		if err = c.Err(); errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
}

func (c *Conn) dispatch(m *wireMessage) error {
	switch {
	case m.Method != nil && isNull(m.ID):
		c.handler.HandleNotify(c, *m.Method, m.Params)
	case m.Method != nil:
		c.request(&Request{Conn: c, ID: m.ID, Method: *m.Method, Params: m.Params})
	case !isNull(m.ID):
		c.reply(m)
	default:
		return fmt.Errorf("jsonrpc: message has neither method nor id")
	}
	return nil
}

func (c *Conn) request(r *Request) {
	if r.Method == "echo" {
		params := r.Params
		if isNull(params) {
			params = json.RawMessage("[]")
		}
		_ = r.Reply(params)
		return
	}
	if h, ok := c.handler.(Responder); ok {
		h.Respond(r)
		return
	}
	result, err := c.handler.HandleRequest(c, r.Method, r.Params)
	if err == nil {
		err = r.Reply(result)
	}
	if err != nil {
		_ = r.Fail(err)
	}
}

// reply completes a call. A reply nobody waits for any more is dropped.
func (c *Conn) reply(m *wireMessage) {
	c.mu.Lock()
	done := c.calls[string(m.ID)]
	delete(c.calls, string(m.ID))
	c.mu.Unlock()
	switch {
	case done == nil:
	case !isNull(m.Error):
		done(nil, &Error{Value: m.Error})
	default:
		done(m.Result, nil)
	}
}
