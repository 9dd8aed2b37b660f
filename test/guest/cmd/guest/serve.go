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
// serves calls until one says stop, the guest dies or a signal comes.
func serve(args []string) error {
	g, l, err := bootAndListen(args)
	if err != nil {
		fmt.Println(err)
		return err
	}
	defer g.Stop()
	defer l.Close()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer cancel()
	fmt.Println("up")
	_ = os.Stdout.Close()
	var handlers sync.WaitGroup
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			handlers.Go(func() { handle(g, conn, cancel) })
		}
	}()
	select {
	case <-ctx.Done():
	case <-g.Done():
	}
	handlers.Wait() // the one that stopped the guest has yet to say so
	return nil
}

func bootAndListen(args []string) (*guest.Guest, net.Listener, error) {
	c, err := configFlags(args)
	if err != nil {
		return nil, nil, err
	}
	path := socketOf(c.Name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, nil, err
	}
	_ = os.Remove(path) // of a process that was killed: start saw that none listens
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, nil, err
	}
	g, err := guest.Start(context.Background(), c)
	if err != nil {
		_ = l.Close()
		return nil, nil, err
	}
	return g, l, nil
}

func handle(g *guest.Guest, conn net.Conn, stop func()) {
	defer conn.Close()
	var c call
	if json.NewDecoder(bufio.NewReader(conn)).Decode(&c) != nil {
		return
	}
	var a answer
	if c.Stop {
		g.Stop()
		stop()
	} else if r, err := g.Exec(context.Background(), c.Exec); err != nil {
		a.Error = err.Error()
	} else {
		a.Result = r
	}
	_ = json.NewEncoder(conn).Encode(a)
}
