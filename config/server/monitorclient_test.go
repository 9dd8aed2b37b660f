package server_test

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// checkMonitor runs an ovsdb-client monitor until it shows the row.
func checkMonitor(t *testing.T, args []string) {
	t.Helper()
	cmd := exec.Command("ovsdb-client", args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	found := false
	var all strings.Builder
	for lines := bufio.NewScanner(out); !found && lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		found = strings.Contains(lines.Text(), "initial,here")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if !found {
		t.Errorf("ovsdb-client %q shows no initial row:\n%s", args, all.String())
	}
}
