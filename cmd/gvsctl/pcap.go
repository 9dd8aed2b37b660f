package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/control"
)

// pcapArgs are the arguments of pcap, for the help.
const pcapArgs = "-i PORT [-d rx|tx|drop|all] [-w FILE|-] [--filter MATCH] [--count N] [--snaplen N]"

var pcapOptions = []option{
	{name: "interface", short: 'i', arg: needsArg},
	{name: "direction", short: 'd', arg: needsArg},
	{name: "write", short: 'w', arg: needsArg},
	{name: "filter", short: 'f', arg: needsArg},
	{name: "count", short: 'c', arg: needsArg},
	{name: "snaplen", short: 's', arg: needsArg},
}

// pcapCall is one call of pcap.
type pcapCall struct {
	port string
	file string // "": text to standard output
	args []string
}

// readPcap reads the words after "pcap".
func readPcap(words []string) (*pcapCall, error) {
	given, operands, err := permute(words, pcapOptions)
	if err != nil {
		return nil, err
	}
	if len(operands) > 0 {
		return nil, fmt.Errorf("pcap: %q is too much; the port is given by -i, a filter by --filter", operands[0])
	}
	call := &pcapCall{}
	for _, g := range given {
		name, value, _ := strings.Cut(g, "=")
		switch name {
		case "--interface":
			call.port = value
		case "--direction":
			call.args = append(call.args, "--dir="+value)
		case "--write":
			if value == "" {
				return nil, errors.New("pcap: -w needs the name of a file, or - for standard output")
			}
			call.file = value
		default:
			call.args = append(call.args, g)
		}
	}
	if call.port == "" {
		return nil, errors.New("pcap: which port? (-i PORT)")
	}
	if call.file == "" {
		call.args = append(call.args, "--text")
	}
	return call, nil
}

// pipeSize is what the pipe from gvswitchd is to hold: it is the capture's second buffer.
const pipeSize = 1 << 20

// pcap captures what a port receives, sends and drops, until there is enough, the switch ends, or it is interrupted; then the file is
// complete. What the capture missed is told at the end.
func (p *program) pcap(ctx context.Context, s *settings, words []string) error {
	call, err := readPcap(words)
	if err != nil {
		return err
	}
	client, err := p.dialSwitch(ctx, control.Socket(s.runDir))
	if err != nil {
		return err
	}
	defer client.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	_, _ = unix.FcntlInt(r.Fd(), unix.F_SETPIPE_SZ, pipeSize) // the limit for users without privileges may be lower

	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupted)

	name := fmt.Sprintf("pcap-%d-%d", os.Getpid(), time.Now().UnixNano())
	type reply struct {
		text string
		err  error
	}
	ended := make(chan reply, 1)
	go func() {
		text, err := client.CallFile(context.WithoutCancel(ctx), w, "stream/pcap", append([]string{name, call.port}, call.args...)...)
		_ = w.Close() // gvswitchd has its own, so that the pipe ends when that does
		ended <- reply{text, err}
	}()
	copied := make(chan error, 1)
	go func() { copied <- p.save(call, r) }()

	done := ctx.Done()
	look := time.NewTicker(readerCheck)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			if readerGone(p.stdout) { // there may be no packet that would show it
				return nil
			}
		case e := <-ended:
			if copied != nil && e.err == nil {
				e.err = <-copied
			}
			if e.err == nil {
				fmt.Fprint(p.stderr, e.text)
			}
			return commandError(e.err)
		case err := <-copied:
			copied = nil
			if err != nil { // the disk is full, or whoever reads our output went away
				return ignorePipe(err)
			}
		case <-interrupted:
			signal.Stop(interrupted) // once more ends it at once
			stopStream(s, name)
		case <-done:
			done = nil
			stopStream(s, name)
		}
	}
}

// readerCheck is how often it is looked whether anybody reads the output.
const readerCheck = 500 * time.Millisecond

// readerGone tells whether w is a pipe that nobody reads from any more.
func readerGone(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	p := []unix.PollFd{{Fd: int32(f.Fd())}}
	n, err := unix.Poll(p, 0)
	return err == nil && n > 0 && p[0].Revents&unix.POLLERR != 0
}

// stopStream ends a stream of gvswitchd's.
func stopStream(s *settings, name string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, _ = control.Call(ctx, control.Socket(s.runDir), "stream/stop", name) // it may have ended by itself
}

// ignorePipe takes a reader that has gone for an end like any other.
func ignorePipe(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// save copies what comes by the pipe to the file, which is made only when there is something.
func (p *program) save(call *pcapCall, r io.Reader) error {
	buf := make([]byte, pipeSize)
	n, err := r.Read(buf)
	if n == 0 {
		return notEOF(err)
	}
	out := p.stdout
	if call.file != "" && call.file != "-" {
		f, err := os.Create(call.file)
		if err != nil {
			return err
		}
		defer f.Close()
		out = f
	}
	for {
		if n > 0 {
			if _, err := out.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return notEOF(err)
		}
		n, err = r.Read(buf)
	}
}

func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
