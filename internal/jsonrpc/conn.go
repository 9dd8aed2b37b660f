package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

// DefaultMaxMessage bounds one incoming message, in bytes. An OVSDB snapshot
// of thousands of ports is a few megabytes.
const DefaultMaxMessage = 64 << 20

// DefaultMaxQueue bounds the bytes that wait for a peer that does not read. A
// connection with more than that waiting is closed.
const DefaultMaxQueue = 64 << 20

// flushTimeout is how long Serve goes on writing replies after the peer closed
// its sending side.
const flushTimeout = 2 * time.Second

var (
	// ErrClosed is returned by calls on a connection that has ended.
	ErrClosed = errors.New("jsonrpc: connection closed")
	// ErrTooLarge ends a connection whose peer sent a message over the limit.
	ErrTooLarge = errors.New("jsonrpc: message too large")
	// ErrSlowPeer ends a connection whose peer does not read.
	ErrSlowPeer = errors.New("jsonrpc: peer does not read, too much is waiting for it")
)

// Conn is one JSON-RPC peer. Make it with NewConn, run Serve.
type Conn struct {
	rw      io.ReadWriteCloser
	handler Handler

	maxMessage int64
	out        outQueue
	done       chan struct{}

	mu      sync.Mutex
	calls   map[string]func(json.RawMessage, error)
	lastID  uint64
	closed  bool
	failure error // why the connection ended
}

// Option changes a limit of a connection.
type Option func(*Conn)

// MaxMessage sets the largest incoming message, in bytes.
func MaxMessage(n int64) Option { return func(c *Conn) { c.maxMessage = n } }

// MaxQueue sets how many outgoing bytes may wait.
func MaxQueue(n int) Option { return func(c *Conn) { c.out.limit = n } }

// NewConn takes rw over and starts to write what is sent; nothing is read, and
// no reply arrives, before Serve runs. A nil h refuses every request with
// "unknown method" (except "echo", see Serve) and ignores notifications.
func NewConn(rw io.ReadWriteCloser, h Handler, opts ...Option) *Conn {
	if h == nil {
		h = HandlerFuncs{}
	}
	c := &Conn{
		rw:         rw,
		handler:    h,
		maxMessage: DefaultMaxMessage,
		done:       make(chan struct{}),
		calls:      make(map[string]func(json.RawMessage, error)),
	}
	c.out.init(DefaultMaxQueue)
	for _, o := range opts {
		o(c)
	}
	go c.writeLoop()
	return c
}

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err says why the connection ended; nil while it lives, ErrClosed after Close.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// Close ends the connection at once. What waits to be written is lost (see
// Flush), calls that wait return ErrClosed.
func (c *Conn) Close() error {
	c.shutdown(ErrClosed)
	return nil
}

func (c *Conn) shutdown(why error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.closed = true
	c.failure = why
	calls := c.calls
	c.calls = nil
	c.mu.Unlock()

	c.out.close()
	_ = c.rw.Close()
	close(c.done)
	for _, f := range calls {
		f(nil, why)
	}
}

// Flush waits until everything sent so far has been given to the stream.
func (c *Conn) Flush(ctx context.Context) error {
	select {
	case <-c.out.drained():
		return nil
	case <-c.done:
		return c.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Notify sends a message that wants no reply. It never blocks.
func (c *Conn) Notify(method string, params any) error {
	return c.send(outRequest{Method: method, Params: orEmpty(params)})
}

// Go sends a request; done is called once, with the raw result or an error
// (*Error if the peer reported one). It runs on Serve's goroutine, in order
// with the notifications, and must not wait for another reply. If the
// connection ends first, done gets the reason, on the goroutine that ended it.
func (c *Conn) Go(method string, params any, done func(result json.RawMessage, err error)) {
	_, err := c.start(method, params, done)
	if err != nil {
		done(nil, err)
	}
}

// Call sends a request and waits for the reply, which it decodes into result
// unless that is nil. It must not be called from a handler of the same
// connection: the reply could not be read.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	type reply struct {
		raw json.RawMessage
		err error
	}
	ch := make(chan reply, 1)
	id, err := c.start(method, params, func(raw json.RawMessage, err error) { ch <- reply{raw, err} })
	if err != nil {
		return err
	}
	select {
	case r := <-ch:
		if r.err != nil || result == nil {
			return r.err
		}
		if err := json.Unmarshal(r.raw, result); err != nil {
			return fmt.Errorf("jsonrpc: reply to %s: %w", method, err)
		}
		return nil
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.calls, id)
		c.mu.Unlock()
		return ctx.Err()
	}
}

func (c *Conn) start(method string, params any, done func(json.RawMessage, error)) (string, error) {
	c.mu.Lock()
	if c.closed {
		err := c.failure
		c.mu.Unlock()
		return "", err
	}
	n := c.lastID
	c.lastID++
	id := strconv.FormatUint(n, 10)
	c.calls[id] = done
	c.mu.Unlock()
	err := c.send(outRequest{ID: n, Method: method, Params: orEmpty(params)})
	if err == nil {
		return id, nil
	}
	c.mu.Lock()
	_, mine := c.calls[id]
	delete(c.calls, id)
	c.mu.Unlock()
	if mine {
		return "", err
	}
	return id, nil // shutdown has called done already
}

func orEmpty(params any) any {
	if params == nil {
		return []any{}
	}
	return params
}

func (c *Conn) send(v any) error {
	b, err := encode(v)
	if err != nil {
		return fmt.Errorf("jsonrpc: cannot encode message: %w", err)
	}
	err = c.out.put(b)
	if errors.Is(err, ErrSlowPeer) {
		// Not on this goroutine: a sender may hold the locks that the
		// callbacks of waiting calls want.
		go c.shutdown(err)
	}
	return err
}
