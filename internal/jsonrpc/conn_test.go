package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func pair(t *testing.T, a, b Handler, opts ...Option) (*Conn, *Conn) {
	t.Helper()
	x, y := net.Pipe()
	ca, cb := NewConn(x, a, opts...), NewConn(y, b, opts...)
	for _, c := range []*Conn{ca, cb} {
		finished := make(chan struct{})
		go func() { defer close(finished); _ = c.Serve(context.Background()) }()
		t.Cleanup(func() { c.Close(); <-finished })
	}
	return ca, cb
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestCall(t *testing.T) {
	h := HandlerFuncs{Request: func(_ *Conn, method string, params json.RawMessage) (any, error) {
		switch method {
		case "text":
			return "a<b&c\n", nil
		case "args":
			return params, nil
		case "plain":
			return nil, errors.New("went wrong")
		case "ovsdb":
			return nil, NewError("constraint violation", "too many")
		}
		return nil, Errorf("unknown method")
	}}
	c, _ := pair(t, nil, h)
	tests := []struct {
		method string
		params any
		want   string
		err    string
		tag    string
	}{
		{method: "text", want: `"a<b&c\n"`},
		{method: "args", params: []any{1, "x"}, want: `[1,"x"]`},
		{method: "args", want: `[]`},
		{method: "echo", params: []string{"probe"}, want: `["probe"]`},
		{method: "plain", err: "went wrong", tag: "went wrong"},
		{method: "ovsdb", err: "constraint violation: too many", tag: "constraint violation"},
		{method: "nonsense", err: "unknown method", tag: "unknown method"},
	}
	for _, tt := range tests {
		var got json.RawMessage
		err := c.Call(testContext(t), tt.method, tt.params, &got)
		if tt.err != "" {
			var e *Error
			if !errors.As(err, &e) || e.Error() != tt.err || e.Tag() != tt.tag {
				t.Errorf("%s: error %v, want %q", tt.method, err, tt.err)
			}
			continue
		}
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v, want %s", tt.method, got, err, tt.want)
		}
	}
}

// A notification that a handler sends before its reply has been handled when
// the call returns.
func TestNotificationBeforeReply(t *testing.T) {
	server := HandlerFuncs{Request: func(c *Conn, _ string, _ json.RawMessage) (any, error) {
		for i := range 3 {
			if err := c.Notify("update", []int{i}); err != nil {
				return nil, err
			}
		}
		return "done", nil
	}}
	var seen atomic.Int32
	client := HandlerFuncs{Notify: func(*Conn, string, json.RawMessage) { seen.Add(1) }}
	c, _ := pair(t, client, server)
	for round := int32(1); round <= 50; round++ {
		if err := c.Call(testContext(t), "transact", nil, nil); err != nil {
			t.Fatal(err)
		}
		if got := seen.Load(); got != 3*round {
			t.Fatalf("round %d: %d notifications handled, want %d", round, got, 3*round)
		}
	}
}

type laterHandler struct {
	HandlerFuncs
	held chan *Request
}

func (h laterHandler) Respond(r *Request) {
	if r.Method == "wait" {
		h.held <- r
		return
	}
	_ = r.Reply("now")
}

func TestLateReply(t *testing.T) {
	h := laterHandler{held: make(chan *Request, 1)}
	c, _ := pair(t, nil, h)
	got := make(chan string, 1)
	c.Go("wait", nil, func(raw json.RawMessage, err error) { got <- string(raw) })
	var now string
	if err := c.Call(testContext(t), "other", nil, &now); err != nil || now != "now" {
		t.Fatalf("a waiting request blocks the next: %q, %v", now, err)
	}
	r := <-h.held
	_ = r.Reply("later")
	_ = r.Reply("twice")
	if s := <-got; s != `"later"` {
		t.Errorf("late reply is %s", s)
	}
}

func TestClosedConnectionEndsCalls(t *testing.T) {
	h := laterHandler{held: make(chan *Request, 1)}
	c, peer := pair(t, nil, h)
	errs := make(chan error, 1)
	go func() { errs <- c.Call(context.Background(), "wait", nil, nil) }()
	<-h.held
	peer.Close()
	if err := <-errs; err == nil {
		t.Error("call on a connection that broke gave no error")
	}
	if err := c.Call(testContext(t), "x", nil, nil); err == nil {
		t.Error("call on a closed connection gave no error")
	}
	if err := c.Notify("x", nil); err == nil {
		t.Error("notification on a closed connection gave no error")
	}
}

func TestCallContext(t *testing.T) {
	h := laterHandler{held: make(chan *Request, 1)}
	c, _ := pair(t, nil, h)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-h.held; cancel() }()
	if err := c.Call(ctx, "wait", nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if len(c.calls) != 0 {
		t.Errorf("%d calls left behind", len(c.calls))
	}
}

func TestSlowPeerIsClosed(t *testing.T) {
	x, y := net.Pipe() // nobody reads y
	defer y.Close()
	c := NewConn(x, nil, MaxQueue(1000))
	defer c.Close()
	payload := []string{strings.Repeat("x", 200)}
	var err error
	for i := 0; i < 20 && err == nil; i++ {
		err = c.Notify("update", payload)
	}
	if !errors.Is(err, ErrSlowPeer) {
		t.Fatalf("got %v, want ErrSlowPeer", err)
	}
	select {
	case <-c.Done():
	case <-time.After(5 * time.Second):
		t.Fatal("connection is still open")
	}
}

func TestBadStreams(t *testing.T) {
	tests := []struct {
		name, in string
		want     error // nil: any error
		clean    bool
	}{
		{name: "end of file", in: ``, clean: true},
		{name: "whole message", in: `{"id":null,"method":"x","params":[]}`, clean: true},
		{name: "cut off", in: `{"id":nu`, want: io.ErrUnexpectedEOF},
		{name: "no JSON", in: `hello`},
		{name: "neither method nor id", in: `{}`},
		{name: "wrong type", in: `{"method":1,"id":1}`},
		{name: "not an object", in: `[1]`},
		{name: "too long", in: `{"id":1,"method":"` + strings.Repeat("x", 4096) + `"}`, want: ErrTooLarge},
		{name: "many short ones", in: strings.Repeat(`{"id":null,"method":"x","params":[]}`, 100), clean: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x, y := net.Pipe()
			go func() { _, _ = io.WriteString(y, tt.in); _ = y.Close() }()
			err := NewConn(x, nil, MaxMessage(1024)).Serve(context.Background())
			switch {
			case tt.clean && err != nil:
				t.Errorf("got %v, want nil", err)
			case !tt.clean && err == nil:
				t.Error("no error")
			case tt.want != nil && !errors.Is(err, tt.want):
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func TestServeEndsWithContext(t *testing.T) {
	x, y := net.Pipe()
	defer y.Close()
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := NewConn(x, nil).Serve(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func FuzzServe(f *testing.F) {
	f.Add(`{"id":1,"method":"echo","params":["x"]}`)
	f.Add(`{"id":0,"result":{},"error":null}{"id":null,"method":"update","params":[]}`)
	f.Add(`{"id":{"a":[1]},"method":"list_dbs","params":[]}`)
	f.Fuzz(func(t *testing.T, in string) {
		x, y := net.Pipe()
		go func() { _, _ = io.WriteString(y, in); _ = y.Close() }()
		go func() { _, _ = io.Copy(io.Discard, y) }()
		_ = NewConn(x, nil, MaxMessage(1<<16)).Serve(context.Background())
	})
}
