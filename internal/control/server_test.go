package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// start serves a few commands on a run directory of its own and returns that directory. stop ends the server and waits for it.
func start(t *testing.T) (dir string, s *Server, stop func()) {
	t.Helper()
	r, err := Claim(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.Listen()
	if err != nil {
		t.Fatal(err)
	}
	s = NewServer("gvswitchd (test) 1.0")
	s.Register("echo-args", "[ARG]...", 0, Unlimited, func(_ context.Context, args []string) (string, error) {
		return strings.Join(args, "|"), nil
	})
	s.Register("two", "A [B]", 1, 2, func(_ context.Context, args []string) (string, error) {
		return "", fmt.Errorf("two: A: value %q is no good", args[0])
	})
	s.Register("panics", "", 0, 0, func(context.Context, []string) (string, error) {
		var none []string
		return none[0], nil
	})
	s.RegisterResult("both", "", 0, 0, func(context.Context, []string) (Result, error) {
		return Result{Text: "n is 7\n", Value: map[string]int{"n": 7}}, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
		done <- nil
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	t.Cleanup(stop)
	return r.Path(), s, stop
}

func TestCommands(t *testing.T) {
	dir, _, _ := start(t)
	for _, c := range []struct {
		call, want, wantErr string
	}{
		{call: "version", want: "gvswitchd (test) 1.0\n"},
		{call: "echo-args", want: ""},
		{call: "echo-args a b c", want: "a|b|c\n"},
		{call: "both", want: "n is 7\n"},
		{call: "two x", wantErr: "two: A: value \"x\" is no good\n"},
		{call: "two", wantErr: "\"two\" command requires at least 1 arguments\n"},
		{call: "two 1 2 3", wantErr: "\"two\" command takes at most 2 arguments\n"},
		{call: "nosuch", wantErr: "\"nosuch\" is not a valid command (use \"list-commands\" to see a list of valid commands)\n"},
		{call: "panics", wantErr: "panics: internal error: runtime error: index out of range [0] with length 0\n"},
		{call: "set-options --colour", wantErr: "set-options: unknown option \"--colour\"\n"},
		{call: "set-options --format xml", wantErr: "set-options: format \"xml\" is not one of text and json\n"},
	} {
		words := strings.Fields(c.call)
		got, err := Call(t.Context(), Socket(dir), words[0], words[1:]...)
		gotErr := ""
		if err != nil {
			gotErr = err.Error()
			var refused *CommandError
			if !errors.As(err, &refused) {
				t.Errorf("%s: error of type %T", c.call, err)
			}
		}
		if got != c.want || gotErr != c.wantErr {
			t.Errorf("%s:\n got %q, %q\nwant %q, %q", c.call, got, gotErr, c.want, c.wantErr)
		}
	}
}

func TestListCommands(t *testing.T) {
	dir, _, _ := start(t)
	text, err := Call(t.Context(), Socket(dir), "list-commands")
	if err != nil {
		t.Fatal(err)
	}
	want := "The available commands are:\n" +
		"  both                    \n" +
		"  echo-args               [ARG]...\n" +
		"  list-commands           \n" +
		"  panics                  \n" +
		"  set-options             [--format text|json]\n" +
		"  two                     A [B]\n" +
		"  version                 \n"
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestJSON(t *testing.T) {
	dir, _, _ := start(t)
	c, err := Dial(t.Context(), Socket(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetJSON(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ command, want string }{
		{"both", `{"n":7}`},
		{"version", `{"reply-format":"plain","reply":"gvswitchd (test) 1.0\n"}`},
	} {
		got, err := c.CallJSON(t.Context(), x.command)
		if err != nil || string(got) != x.want {
			t.Errorf("%s: got %s, %v; want %s", x.command, got, err, x.want)
		}
	}
	var infos []CommandInfo
	raw, err := c.CallJSON(t.Context(), "list-commands")
	if err != nil || json.Unmarshal(raw, &infos) != nil || len(infos) != 7 {
		t.Errorf("list-commands: %s, %v", raw, err)
	}
}

// Requests of one connection are answered in order, though a later one could be done sooner; another connection does not wait for them.
func TestOrder(t *testing.T) {
	dir, s, _ := start(t)
	release := make(chan struct{})
	var running atomic.Int32
	s.Register("slow", "", 0, 0, func(ctx context.Context, _ []string) (string, error) {
		running.Add(1)
		select {
		case <-release:
			return "slow", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	c, err := Dial(t.Context(), Socket(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	order := make(chan string, 2)
	for _, name := range []string{"slow", "version"} {
		c.conn.Go(name, []string{}, func(raw json.RawMessage, err error) { order <- fmt.Sprint(string(raw), err) })
	}
	if _, err := Call(t.Context(), Socket(dir), "version"); err != nil {
		t.Fatalf("a second connection while the first is busy: %v", err)
	}
	close(release)
	if first, second := <-order, <-order; !strings.Contains(first, "slow") || !strings.Contains(second, "1.0") {
		t.Errorf("replies out of order: %s, %s", first, second)
	}
}

// A handler's context ends when its caller goes away, and when the server stops.
func TestContextEnds(t *testing.T) {
	dir, s, stop := start(t)
	began, ended := make(chan struct{}, 2), make(chan struct{}, 2)
	s.Register("wait", "", 0, 0, func(ctx context.Context, _ []string) (string, error) {
		began <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return "ended", nil
	})
	within := func(what string, c <-chan struct{}) {
		t.Helper()
		select {
		case <-c:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: nothing happened", what)
		}
	}
	c, err := Dial(t.Context(), Socket(dir))
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = c.Call(t.Context(), "wait") }()
	within("first call", began)
	c.Close()
	within("caller gone", ended)

	reply := make(chan string, 1)
	go func() {
		text, err := Call(context.Background(), Socket(dir), "wait")
		reply <- fmt.Sprint(text, err)
	}()
	within("second call", began)
	stop()
	within("server stopped", ended)
	if got := <-reply; got != "ended\n<nil>" {
		t.Errorf("the reply that was due when the server stopped: %q", got)
	}
}

func TestTooManyRequests(t *testing.T) {
	dir, s, _ := start(t)
	s.Register("block", "", 0, 0, func(ctx context.Context, _ []string) (string, error) {
		<-ctx.Done()
		return "", nil
	})
	c, err := Dial(t.Context(), Socket(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	refused := make(chan error, 2*maxPipelined)
	for range maxPipelined + 2 {
		c.conn.Go("block", []string{}, func(_ json.RawMessage, err error) { refused <- err })
	}
	select {
	case err := <-refused:
		if !strings.Contains(err.Error(), "too many requests") {
			t.Errorf("got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("a client may queue requests without bound")
	}
}

func TestArgumentsMustBeStrings(t *testing.T) {
	dir, _, _ := start(t)
	c, err := Dial(t.Context(), Socket(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.conn.Call(t.Context(), "version", []int{5}, nil); err == nil || !strings.Contains(err.Error(), "must be strings") {
		t.Errorf("got %v", err)
	}
}

func TestDialErrors(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "No such file or directory",
		plain:                      "Connection refused",
	} {
		_, err := Call(t.Context(), path, "version")
		if want = fmt.Sprintf("cannot connect to %q (%s)", path, want); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestRegisterPanics(t *testing.T) {
	run := func(context.Context, []string) (string, error) { return "", nil }
	for name, f := range map[string]func(s *Server){
		"twice":     func(s *Server) { s.Register("version", "", 0, 0, run) },
		"empty":     func(s *Server) { s.Register("", "", 0, 0, run) },
		"two words": func(s *Server) { s.Register("a b", "", 0, 0, run) },
		"arity":     func(s *Server) { s.Register("a", "", 2, 1, run) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: accepted", name)
				}
			}()
			f(NewServer("x"))
		}()
	}
}
