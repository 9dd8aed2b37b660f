// Command agent is /init of the test guests: it brings the machine up, gives
// eth0 its addresses, and runs the commands that the harness sends over a
// serial line (package wire).
//
// Its settings come from the kernel command line:
//
//	guest.hostname=NAME guest.agent=TTY guest.ip=A/P guest.ip6=A/P guest.mac=M
//	guest.mtu=N guest.vlan=ID guest.queues=N
//
// With a VLAN the addresses go on eth0.ID. It refuses to know what the tests
// are about.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gvswitch/gvswitch/test/guest/wire"
)

func main() {
	_ = os.Setenv("PATH", "/bin")
	_ = os.Setenv("HOME", "/root")
	a := &agent{pieces: map[int][]byte{}}
	a.mountAll()
	set := settings()
	if err := a.open("/dev/" + set["agent"]); err != nil {
		fmt.Println("agent:", err)
		powerOff()
	}
	a.bringUp(set)
	a.send(wire.Message{Verb: "ready", Arg: uptime()})
	a.serve()
	powerOff()
}

// settings are the words guest.KEY=VALUE of the kernel command line.
func settings() map[string]string {
	set := map[string]string{}
	b, _ := os.ReadFile("/proc/cmdline")
	for _, w := range strings.Fields(string(b)) {
		if k, v, ok := strings.Cut(strings.TrimPrefix(w, "guest."), "="); ok && strings.HasPrefix(w, "guest.") {
			set[k] = v
		}
	}
	return set
}

type agent struct {
	mu     sync.Mutex // one message at a time on the line
	line   *os.File
	pieces map[int][]byte // commands not complete yet; used by serve alone
}

func (a *agent) mountAll() {
	for _, m := range [][2]string{
		{"proc", "/proc"},
		{"sysfs", "/sys"},
		{"devtmpfs", "/dev"},
		{"devpts", "/dev/pts"},
		{"tmpfs", "/tmp"},
	} {
		_ = os.MkdirAll(m[1], 0o755)
		if err := syscall.Mount(m[0], m[1], m[0], 0, ""); err != nil && !errors.Is(err, syscall.EBUSY) {
			fmt.Println("agent: mount", m[1], err)
		}
	}
}

// open opens the serial line for bytes as they are.
func (a *agent) open(tty string) error {
	f, err := os.OpenFile(tty, os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	a.line = f
	if out, err := exec.Command("stty", "-F", tty, "raw", "-echo", "clocal").CombinedOutput(); err != nil {
		return fmt.Errorf("stty: %w: %s", err, out)
	}
	return nil
}

func (a *agent) send(m wire.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = a.line.Write(m.Line())
}

func (a *agent) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	fmt.Println("agent:", text)
	for _, m := range wire.Chunks("warn", 0, []byte(text)) {
		a.send(m)
	}
}

// serve handles requests until the line ends.
func (a *agent) serve() {
	in := bufio.NewScanner(a.line)
	for in.Scan() {
		m, ok := wire.Parse(in.Text())
		if !ok {
			continue
		}
		switch m.Verb {
		case "put":
			b, err := m.Bytes()
			if err != nil {
				continue // a damaged line: without an ok the harness gives up
			}
			a.pieces[m.ID] = append(a.pieces[m.ID], b...)
			a.send(wire.Message{Verb: "ok", ID: m.ID})
		case "run":
			seconds, _ := strconv.ParseFloat(m.Arg, 64)
			cmd := a.pieces[m.ID]
			delete(a.pieces, m.ID)
			go a.run(m.ID, string(cmd), time.Duration(seconds*float64(time.Second)))
		case "poweroff":
			return
		}
	}
}

// run runs one command with its output in files, so that a daemon that it
// leaves behind holds up nobody.
func (a *agent) run(id int, command string, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	files := map[string]*os.File{}
	for _, verb := range []string{"out", "err"} {
		f, err := os.CreateTemp("/tmp", ".agent")
		if err != nil {
			a.send(wire.Message{Verb: "exit", ID: id, Arg: "125"})
			return
		}
		defer os.Remove(f.Name())
		defer f.Close()
		files[verb] = f
	}
	cmd.Stdout, cmd.Stderr = files["out"], files["err"]
	err := cmd.Run()
	code := 0
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		code = wire.TimeoutCode
	case errors.As(err, &exit):
		code = exit.ExitCode()
		if code < 0 {
			code = 128 + int(exit.Sys().(syscall.WaitStatus).Signal())
		}
	case err != nil:
		code = 127
	}
	for _, verb := range []string{"out", "err"} {
		b, _ := os.ReadFile(files[verb].Name())
		for _, m := range wire.Chunks(verb, id, b) {
			a.send(m)
		}
	}
	a.send(wire.Message{Verb: "exit", ID: id, Arg: strconv.Itoa(code)})
}

func uptime() string {
	b, _ := os.ReadFile("/proc/uptime")
	first, _, _ := strings.Cut(string(b), " ")
	return first
}

func powerOff() {
	syscall.Sync()
	_ = syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
}

// modules are the kernel modules of the image, in the order in which they load.
func modules() []string {
	files, _ := filepath.Glob("/mod/*")
	return files
}
