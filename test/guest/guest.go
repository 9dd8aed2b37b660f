package guest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gvswitch/gvswitch/test/guest/wire"
	"github.com/gvswitch/gvswitch/test/proc"
)

// Guest is a guest that runs. It is killed when the program ends.
type Guest struct {
	Config
	dir  string
	proc *proc.Process
	line *line
}

// Result is the end of a command in a guest.
type Result struct {
	Stdout, Stderr string
	Code           int // wire.TimeoutCode when its time was over
}

// Start boots a guest and returns when its network is up, or with an error that
// has its console, and nothing left running.
func Start(ctx context.Context, c Config) (*Guest, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	// A short path: UML binds a socket in it.
	dir, err := os.MkdirTemp("", "gvsguest")
	if err != nil {
		return nil, err
	}
	g := &Guest{Config: c, dir: dir}
	if err := g.launch(); err != nil {
		g.clean()
		return nil, fmt.Errorf("guest %s: %w", c.Name, err)
	}
	if err := g.waitReady(ctx); err != nil {
		g.Kill()
		return nil, fmt.Errorf("guest %s: %w\n%s", c.Name, err, g.Console())
	}
	return g, nil
}

func (g *Guest) launch() error {
	cmd, err := g.command(g.dir)
	if err != nil {
		return err
	}
	var theirs *os.File
	if g.line, theirs, err = newLine(); err != nil {
		return err
	}
	defer theirs.Close()
	cmd.ExtraFiles = []*os.File{theirs}
	g.proc, err = proc.Start(cmd)
	return err
}

func (g *Guest) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, g.BootTime)
	defer cancel()
	select {
	case <-g.line.ready:
	case <-g.proc.Done():
		return fmt.Errorf("died while it booted (%s)", g.proc.State())
	case <-ctx.Done():
		return fmt.Errorf("is not up after %v: %w", g.BootTime, ctx.Err())
	}
	if w := g.line.warned(); w != "" {
		return fmt.Errorf("setup failed: %s", strings.TrimSpace(w))
	}
	return nil
}

// execTime is how long a command may run when its context has no deadline.
const execTime = 60 * time.Second

// Exec runs a shell command in the guest. The error is about the guest; how the
// command ended is in the result. A command that still runs at the context's
// deadline is killed.
func (g *Guest) Exec(ctx context.Context, command string) (Result, error) {
	if g.proc == nil || !g.proc.Alive() {
		return Result{}, fmt.Errorf("guest %s does not run", g.Name)
	}
	limit := execTime
	if d, ok := ctx.Deadline(); ok {
		limit = time.Until(d)
	}
	// The guest ends it in time; past that there is something wrong with the guest.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit+10*time.Second)
	defer cancel()
	r, err := g.line.run(ctx, command, limit.Seconds(), g.proc.Done())
	if err != nil {
		err = fmt.Errorf("guest %s: %q: %w", g.Name, command, err)
	}
	return r, err
}

// Run is Exec for a command that must succeed: any other exit status is an error
// with what it printed.
func (g *Guest) Run(ctx context.Context, command string) (string, error) {
	r, err := g.Exec(ctx, command)
	if err == nil && r.Code != 0 {
		err = fmt.Errorf("guest %s: %q: exit status %d: %s%s", g.Name, command, r.Code, r.Stderr, r.Stdout)
	}
	return r.Stdout, err
}

// Background starts a shell command that goes on after the call, and returns what
// ends it.
func (g *Guest) Background(ctx context.Context, command string) (stop func(), err error) {
	out, err := g.Run(ctx, "setsid "+command+" >/dev/null 2>&1 </dev/null & echo $!")
	if err != nil {
		return nil, err
	}
	return func() {
		_, _ = g.Run(ctx, "kill -9 -"+strings.TrimSpace(out)) // it may have ended
	}, nil
}

// Console is what the guest printed on its console.
func (g *Guest) Console() string {
	if g.proc == nil {
		return ""
	}
	return strings.ReplaceAll(g.proc.Output(), "\r", "")
}

// Alive tells whether the guest's process runs.
func (g *Guest) Alive() bool { return g.proc.Alive() }

// Done is closed when the guest's process has ended.
func (g *Guest) Done() <-chan struct{} { return g.proc.Done() }

// Pid is the process id of the guest's machine.
func (g *Guest) Pid() int { return g.proc.Pid() }

// Stop powers the guest off, and kills it when that takes too long.
func (g *Guest) Stop() {
	_ = g.line.send(wire.Message{Verb: "poweroff"})
	select {
	case <-g.proc.Done():
	case <-time.After(3 * time.Second):
	}
	g.Kill()
}

// Kill ends the guest at once, as a crash of its machine would.
func (g *Guest) Kill() {
	if g.proc != nil {
		g.proc.Kill()
	}
	g.clean()
}

func (g *Guest) clean() {
	if g.line != nil {
		g.line.close()
	}
	_ = os.RemoveAll(g.dir)
}
