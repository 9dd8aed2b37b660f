package control

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/gvswitch/gvswitch/internal/jsonrpc"
)

// maxRequest bounds one request, in bytes. The longest real ones carry a packet as hex or a list of flows.
const maxRequest = 16 << 20

// drainTime is how long Serve waits, at its end, for running commands to notice that their context is done and for their replies to
// leave. It lets the reply to "exit" reach its sender.
const drainTime = 2 * time.Second

// Server answers commands. Make it with NewServer, register commands (before or while it serves), and run Serve.
type Server struct {
	registry registry
	sessions sync.WaitGroup
}

// NewServer returns a server that knows "list-commands", "version" and "set-options". version is the line that "version" prints, without
// a final newline.
func NewServer(version string) *Server {
	s := &Server{}
	s.RegisterResult("list-commands", "", 0, 0, func(context.Context, []string) (Result, error) {
		return s.registry.list(), nil
	})
	s.Register("version", "", 0, 0, func(context.Context, []string) (string, error) {
		return version, nil
	})
	// What set-options does belongs to the connection, see session.setOptions; here it is only made known.
	s.RegisterResult(setOptions, "[--format text|json]", 0, Unlimited, func(context.Context, []string) (Result, error) {
		return Result{}, errors.New("set-options: only for a connection")
	})
	return s
}

// Register adds a command that answers in text. usage describes its arguments for list-commands; a call with fewer than minArgs or more
// than maxArgs of them (see Unlimited) does not reach run. run's context ends when the caller goes away or the server stops. An error's
// text is sent as it is, so it should name the argument, the value and the reason. Register panics if the name is taken.
func (s *Server) Register(name, usage string, minArgs, maxArgs int, run func(ctx context.Context, args []string) (string, error)) {
	s.RegisterResult(name, usage, minArgs, maxArgs, func(ctx context.Context, args []string) (Result, error) {
		text, err := run(ctx, args)
		return Result{Text: text}, err
	})
}

// RegisterResult is Register for a command that answers programs with a value as well as people with a text.
func (s *Server) RegisterResult(name, usage string, minArgs, maxArgs int, run func(ctx context.Context, args []string) (Result, error)) {
	s.registry.register(&command{name: name, usage: usage, minArgs: minArgs, maxArgs: maxArgs, run: run})
}

// Serve answers the connections of l until ctx is done, then closes l, lets running commands end (their context is done, too) and
// returns nil. It returns an error if l fails.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer s.drain()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	for {
		conn, err := l.Accept()
		if err == nil {
			s.sessions.Go(func() { s.serveConn(ctx, conn) })
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		var temporary interface{ Temporary() bool }
		if errors.As(err, &temporary) && temporary.Temporary() { // out of descriptors, say: others will be closed
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
			}
			continue
		}
		return err
	}
}

// drain waits for the sessions, but not for ever: a handler that ignores its context must not keep the daemon from ending.
func (s *Server) drain() {
	done := make(chan struct{})
	go func() {
		s.sessions.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(drainTime + time.Second):
	}
}

// serveConn runs one connection to its end.
func (s *Server) serveConn(ctx context.Context, conn net.Conn) {
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	if u, ok := conn.(*net.UnixConn); ok {
		f := &fileConn{UnixConn: u}
		conn, run = f, context.WithValue(run, filesKey{}, f)
	}
	ses := &session{server: s, ctx: run, requests: make(chan *jsonrpc.Request, maxPipelined)}
	c := jsonrpc.NewConn(conn, ses, jsonrpc.MaxMessage(maxRequest))

	worker := make(chan struct{})
	go func() {
		defer close(worker)
		ses.work()
	}()
	// The connection outlives the server's context by the time that the last reply takes.
	stop := context.AfterFunc(ctx, func() {
		flush, done := context.WithTimeout(context.Background(), drainTime)
		defer done()
		select {
		case <-worker:
		case <-flush.Done():
		}
		_ = c.Flush(flush)
		_ = c.Close()
	})
	defer stop()
	_ = c.Serve(context.Background()) // how a client went away is of no interest
	cancel()
	close(ses.requests)
	<-worker
}
