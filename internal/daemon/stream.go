package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/control"
)

// A stream is a command that writes to a pipe of the client's for as long as there is something: it ends when it has done what was asked, when
// the pipe's reader goes away, when the client does, or when "stream/stop" is called with the name that the client gave it.

// streams are those that run, by name.
type streams struct {
	mu   sync.Mutex
	stop map[string]context.CancelCauseFunc
}

// errStopped ends a stream whose client has had enough.
var errStopped = errors.New("stopped")

// registerStreams makes the commands known that stream.
func (c *commands) registerStreams(s *control.Server) {
	all := &streams{stop: map[string]context.CancelCauseFunc{}}
	add := func(name, usage string, run func(ctx context.Context, w io.Writer, args []string) (string, error)) {
		s.Register(name, "NAME "+usage, 1, control.Unlimited, func(ctx context.Context, args []string) (string, error) {
			return all.run(ctx, args[0], func(ctx context.Context, w io.Writer) (string, error) { return run(ctx, w, args[1:]) })
		})
	}
	add("stream/pcap", "PORT [OPTION]...", c.pcap)
	s.Register("stream/stop", "NAME", 1, 1, func(_ context.Context, args []string) (string, error) {
		return "", all.end(args[0])
	})
}

// run lets f write to the client's pipe. f's context ends when it should; f then writes what is left.
func (s *streams) run(ctx context.Context, name string, f func(context.Context, io.Writer) (string, error)) (string, error) {
	pipe, err := control.TakeFile(ctx)
	if err != nil {
		return "", err
	}
	defer pipe.Close()
	if err := checkPipe(pipe); err != nil {
		return "", err
	}
	client := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := s.begin(name, cancel); err != nil {
		return "", err
	}
	defer s.forget(name)
	// A writer that waits for a reader that has stopped reading, and whose client has gone, waits no longer.
	defer context.AfterFunc(client, func() { _ = pipe.SetWriteDeadline(time.Now().Add(lastWrite)) })()
	text, err := f(ctx, pipe)
	if errors.Is(err, unix.EPIPE) || errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil // whoever went away knows
	}
	return text, err
}

// lastWrite is how long what is left may take to be written when the client has gone.
const lastWrite = 200 * time.Millisecond

// checkPipe holds that writing to f cannot hang the daemon.
func checkPipe(f *os.File) error {
	st, err := f.Stat()
	if err == nil && st.Mode()&os.ModeNamedPipe == 0 {
		return fmt.Errorf("the file that was passed is no pipe")
	}
	return err
}

func (s *streams) begin(name string, stop context.CancelCauseFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop[name] != nil {
		return fmt.Errorf("there is a stream %q already", name)
	}
	s.stop[name] = stop
	return nil
}

func (s *streams) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.stop, name)
}

func (s *streams) end(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	stop := s.stop[name]
	if stop == nil {
		return fmt.Errorf("stream/stop: no stream %q", name)
	}
	stop(errStopped)
	return nil
}

// readerLeft is unix.EPIPE if w is a pipe that nobody will read from any more.
func readerLeft(w io.Writer) error {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd)}}
		n, err := unix.Poll(p, 0)
		gone = err == nil && n > 0 && p[0].Revents&unix.POLLERR != 0
	})
	if gone {
		return unix.EPIPE
	}
	return err
}
