package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/gvswitch/gvswitch/test/guest"
)

// call is what a client asks of a guest's process, one line of JSON; the answer
// is one line as well.
type call struct {
	Exec string // a shell command, or
	Stop bool   // the end of the guest
}

type answer struct {
	guest.Result
	Error string
}

// start runs "guest serve" in the background and waits for its word.
func start(args []string) error {
	c, err := configFlags(args)
	if err != nil {
		return err
	}
	if conn, err := net.Dial("unix", socketOf(c.Name)); err == nil {
		_ = conn.Close()
		return fmt.Errorf("%s runs already", c.Name)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, append([]string{"serve"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	text, err := io.ReadAll(out) // until it closes its stdout
	if err != nil {
		return err
	}
	if word := strings.TrimSpace(string(text)); word != "up" {
		return errors.New(word)
	}
	return nil
}

// serve boots a guest, says "up" or what went wrong on stdout, closes it, and
// serves calls until one says stop, the guest dies or a signal comes. It can be
// stopped while it boots.
func serve(args []string) error {
	c, err := configFlags(args)
	if err != nil {
		fmt.Println(err)
		return err
	}
	signal.Ignore(syscall.SIGPIPE) // start, who reads our word, may have been ended
	s := &server{up: make(chan struct{}), down: make(chan struct{})}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer cancel()
	s.cancel = cancel
	l, err := listen(socketOf(c.Name))
	if err != nil {
		fmt.Println(err)
		return err
	}
	defer l.Close()
	go s.accept(l)
	if s.guest, err = guest.Start(ctx, c); err == nil {
		close(s.up)
		fmt.Println("up")
		_ = os.Stdout.Close()
		select {
		case <-ctx.Done():
		case <-s.guest.Done():
		}
		s.guest.Stop()
	} else {
		fmt.Println(err)
	}
	close(s.down)
	s.handlers.Wait() // the one that stopped the guest has yet to say so
	return err
}

// server is the process of one guest.
type server struct {
	guest    *guest.Guest  // set when up is closed
	up, down chan struct{} // the guest is up; it is gone
	cancel   func()        // ends it
	handlers sync.WaitGroup
}

func listen(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	_ = os.Remove(path) // of a process that was killed: start saw that none listens
	return net.Listen("unix", path)
}

func (s *server) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		s.handlers.Go(func() { s.handle(conn) })
	}
}

func (s *server) handle(conn net.Conn) {
	defer conn.Close()
	var c call
	if json.NewDecoder(bufio.NewReader(conn)).Decode(&c) != nil {
		return
	}
	var a answer
	if c.Stop {
		s.cancel()
		<-s.down
	} else if r, err := s.exec(c.Exec); err != nil {
		a.Error = err.Error()
	} else {
		a.Result = r
	}
	_ = json.NewEncoder(conn).Encode(a)
}

func (s *server) exec(command string) (guest.Result, error) {
	select {
	case <-s.up:
		return s.guest.Exec(context.Background(), command)
	case <-s.down:
		return guest.Result{}, errors.New("the guest did not come up")
	}
}
