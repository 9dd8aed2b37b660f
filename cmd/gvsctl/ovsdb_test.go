package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/config/schema"
	"github.com/gvswitch/gvswitch/config/server"
	"github.com/gvswitch/gvswitch/internal/jsonrpc"
)

const vswitchSchema = "../../config/schema/vswitch.ovsschema"

// ovsdbServer starts Debian's ovsdb-server on a fresh database and returns its address.
func ovsdbServer(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file, socket := filepath.Join(dir, "conf.db"), filepath.Join(dir, "db.sock")
	if out, err := exec.Command("ovsdb-tool", "create", file, vswitchSchema).CombinedOutput(); err != nil {
		t.Fatalf("ovsdb-tool: %v\n%s", err, out)
	}
	cmd := exec.Command("ovsdb-server", file, "--remote=punix:"+socket, "--unixctl="+filepath.Join(dir, "ctl"), "-vconsole:off", "--no-chdir")
	if err := cmd.Start(); err != nil {
		t.Fatalf("ovsdb-server: %v", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return waitFor(t, socket)
}

// embeddedServer serves a fresh database with gvswitchd's own server and returns its address.
func embeddedServer(t *testing.T) string {
	t.Helper()
	s := server.New()
	if err := s.Add(ovsdb.NewDB(schema.OpenVSwitch()), nil); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "db.sock")
	l, err := jsonrpc.ListenUnix(socket, 0o600, -1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "unix:" + socket
}

// waitFor returns the address of a socket once somebody listens on it.
func waitFor(t *testing.T, socket string) string {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if c, err := net.Dial("unix", socket); err == nil {
			_ = c.Close()
			return "unix:" + socket
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not appear", socket)
		}
	}
}

// outcome is what a call of a program came to.
type outcome struct {
	stdout, stderr string
	status         int
}

func (o outcome) String() string {
	return fmt.Sprintf("status %d\n--- stdout\n%s--- stderr\n%s", o.status, o.stdout, o.stderr)
}

// call runs our program under a name.
func call(env map[string]string, name string, args ...string) outcome {
	var stdout, stderr bytes.Buffer
	p := &program{name: name, args: args, stdout: &stdout, stderr: &stderr, getenv: func(k string) string { return env[k] }}
	status := p.run()
	return outcome{stdout.String(), stderr.String(), status}
}

// callReal runs an installed program.
func callReal(t *testing.T, name string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// words splits a line as a shell does: blanks separate, single and double quotes keep, a backslash outside single quotes escapes.
func words(line string) []string {
	var list []string
	var word strings.Builder
	quote, inWord := byte(0), false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, inWord = c, true
		case c == '\\' && quote != '\'' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
			inWord = true
		case quote == 0 && (c == ' ' || c == '\t'):
			if inWord {
				list = append(list, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		list = append(list, word.String())
	}
	return list
}
