package guest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/gvswitch/gvswitch/test/guest/wire"
)

// line is the host's end of the serial line to the agent.
type line struct {
	conn  net.Conn
	ready chan struct{} // closed when the guest is up

	mu       sync.Mutex // guards what follows
	requests map[int]*request
	lastID   int
	warnings strings.Builder
}

// request is a command that runs in the guest.
type request struct {
	result Result
	out    strings.Builder
	err    strings.Builder
	ok     chan struct{} // a piece of the command has arrived
	done   chan struct{} // closed when the command has ended
}

// newLine makes a line and returns the end that the guest's process gets.
func newLine() (*line, *os.File, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "agent"), os.NewFile(uintptr(fds[1]), "agent of the guest")
	conn, err := net.FileConn(ours)
	_ = ours.Close()
	if err != nil {
		_ = theirs.Close()
		return nil, nil, err
	}
	l := &line{conn: conn, ready: make(chan struct{}), requests: map[int]*request{}}
	go l.read()
	return l, theirs, nil
}

// read takes what the guest says until the line is closed.
func (l *line) read() {
	in := bufio.NewScanner(l.conn)
	up := false
	for in.Scan() {
		m, ok := wire.Parse(in.Text())
		if !ok {
			continue
		}
		switch {
		case m.Verb == "ready" && !up:
			up = true
			close(l.ready)
		case m.Verb == "warn":
			b, _ := m.Bytes()
			l.mu.Lock()
			l.warnings.Write(b)
			l.warnings.WriteByte('\n')
			l.mu.Unlock()
		default:
			l.answer(m)
		}
	}
}

func (l *line) answer(m wire.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.requests[m.ID]
	if r == nil {
		return // given up on
	}
	switch m.Verb {
	case "ok":
		r.ok <- struct{}{}
	case "out", "err":
		b, err := m.Bytes()
		if err != nil {
			b = []byte("<damaged on the line>")
		}
		if m.Verb == "out" {
			r.out.Write(b)
		} else {
			r.err.Write(b)
		}
	case "exit":
		code, err := strconv.Atoi(m.Arg)
		if err != nil {
			code = -1
		}
		r.result = Result{Stdout: r.out.String(), Stderr: r.err.String(), Code: code}
		delete(l.requests, m.ID)
		close(r.done)
	}
}

func (l *line) warned() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.warnings.String()
}

// run has the guest run a command. gone is closed when the guest has died.
func (l *line) run(ctx context.Context, command string, seconds float64, gone <-chan struct{}) (Result, error) {
	r := &request{ok: make(chan struct{}, 1), done: make(chan struct{})}
	l.mu.Lock()
	l.lastID++
	id := l.lastID
	l.requests[id] = r
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.requests, id)
		l.mu.Unlock()
	}()
	wait := func(c <-chan struct{}) error {
		select {
		case <-c:
			return nil
		case <-gone:
			return errors.New("the guest died")
		case <-ctx.Done():
			return fmt.Errorf("no answer from the guest: %w", ctx.Err())
		}
	}
	for _, m := range wire.Chunks("put", id, []byte(command)) {
		if err := l.send(m); err != nil {
			return Result{}, err
		}
		if err := wait(r.ok); err != nil {
			return Result{}, err
		}
	}
	if err := l.send(wire.Message{Verb: "run", ID: id, Arg: strconv.FormatFloat(seconds, 'f', 3, 64)}); err != nil {
		return Result{}, err
	}
	if err := wait(r.done); err != nil {
		return Result{}, err
	}
	return r.result, nil
}

func (l *line) send(m wire.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.conn.Write(m.Line())
	return err
}

func (l *line) close() { _ = l.conn.Close() }
