package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/internal/vsctl"
)

// isItRunning is the likely reason for a socket that is not there.
const isItRunning = "is gvswitchd running with this run directory (--run-dir)?"

// isRuntime reports whether a command is for gvswitchd, which knows dpif-netdev/pmd-... without the first part, too.
func isRuntime(name string) bool {
	if vsctl.Find(name) != nil {
		return false
	}
	return strings.Contains(name, "/") || strings.HasPrefix(name, "pmd-") || slices.ContainsFunc(runtimeCommands, func(c runtimeCommand) bool { return c.name == name })
}

// runtime sends a command to the socket of target, as it is called in errors, and prints the reply. Statuses are ovs-appctl's: 1 if there is
// no answer, 2 if it is an error.
func (p *program) runtime(ctx context.Context, target, socket string, asJSON bool, command string, args []string) int {
	c, err := p.dialSwitch(ctx, socket)
	if err != nil {
		return p.fail(1, "%v", err)
	}
	defer c.Close()
	var text string
	if asJSON {
		text, err = callJSON(ctx, c, command, args)
	} else {
		text, err = c.Call(ctx, command, args...)
	}
	var refused *control.CommandError
	switch {
	case errors.As(err, &refused):
		fmt.Fprint(p.stderr, refused.Text)
		return p.fail(2, "%s: server returned an error", target)
	case err != nil:
		return p.fail(1, "%v", err)
	}
	if _, err := io.WriteString(p.stdout, text); err != nil {
		return p.fail(1, "%v", err)
	}
	return 0
}

// dialSwitch connects to gvswitchd's socket.
func (p *program) dialSwitch(ctx context.Context, socket string) (*control.Client, error) {
	c, err := control.Dial(ctx, socket)
	if errors.Is(err, os.ErrNotExist) && p.name == "gvsctl" {
		return nil, fmt.Errorf("%w; %s", err, isItRunning)
	}
	return c, err
}

// callJSON runs a command for its JSON value, and returns it as one line.
func callJSON(ctx context.Context, c *control.Client, command string, args []string) (string, error) {
	if err := c.SetJSON(ctx); err != nil {
		return "", fmt.Errorf("asking for JSON: %w", err)
	}
	raw, err := c.CallJSON(ctx, command, args...)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return "", err
	}
	b.WriteByte('\n')
	return b.String(), nil
}
