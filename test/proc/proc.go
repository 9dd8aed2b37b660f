// Package proc starts the helper programs of the tests so that none of them
// outlives the test: every child is the leader of its own process group and
// gets SIGKILL when the program that started it dies, even by a panic or a
// SIGKILL of its own.
//
// It knows nothing of what it runs. All functions may be called from any
// goroutine.
package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Process is a running child and the log of what it printed.
type Process struct {
	cmd  *exec.Cmd
	log  *Log
	done chan struct{} // closed when the child has been waited for
}

// spawner runs functions on one OS thread that never ends. The kernel sends a
// child's parent-death signal when the *thread* that forked it ends, and the Go
// runtime ends threads whose locked goroutine returned, so that a child forked
// on just any thread could be killed at any time.
var spawner = sync.OnceValue(func() chan<- func() {
	c := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range c {
			f()
		}
	}()
	return c
})

// Start starts cmd in a process group of its own. Where cmd.Stdout or
// cmd.Stderr is nil, the output goes to the process's Log.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, log: new(Log), done: make(chan struct{})}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = !cmd.SysProcAttr.Setsid
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if cmd.Stdout == nil {
		cmd.Stdout = p.log
	}
	if cmd.Stderr == nil {
		cmd.Stderr = p.log
	}
	// A grandchild that keeps the output open does not keep Wait from returning.
	cmd.WaitDelay = time.Second
	started := make(chan error)
	spawner() <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	go func() {
		_ = cmd.Wait() // the state is in cmd.ProcessState
		close(p.done)
	}()
	return p, nil
}

// Pid is the process id, valid until the process has ended.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Output is what the process has printed so far.
func (p *Process) Output() string { return p.log.String() }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Alive tells whether the process still runs.
func (p *Process) Alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// ExitCode is the exit status of a process that has ended, -1 for one that was
// killed by a signal or still runs.
func (p *Process) ExitCode() int {
	if p.Alive() {
		return -1
	}
	return p.cmd.ProcessState.ExitCode()
}

// State says in words how the process ended.
func (p *Process) State() string {
	if p.Alive() {
		return "running"
	}
	return p.cmd.ProcessState.String()
}

// Signal sends sig to the process alone.
func (p *Process) Signal(sig syscall.Signal) error { return p.cmd.Process.Signal(sig) }

// Kill kills the whole process group and returns when the process has ended.
func (p *Process) Kill() {
	_ = syscall.Kill(-p.Pid(), syscall.SIGKILL)
	<-p.done
}

// Stop asks the process to end with SIGTERM, kills its group when it has not
// done so in time, and reports whether it had to.
func (p *Process) Stop(timeout time.Duration) error {
	if !p.Alive() {
		return nil
	}
	_ = p.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		// what it left in its group goes too
		_ = syscall.Kill(-p.Pid(), syscall.SIGKILL)
		return nil
	case <-time.After(timeout):
		p.Kill()
		return fmt.Errorf("%s did not end within %v of SIGTERM", p.cmd.Path, timeout)
	}
}

// Run runs a program to its end and returns its output. The error names the
// command and has what it printed on stderr.
func Run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	out := new(Log)
	errs := new(Log)
	cmd.Stdout, cmd.Stderr = out, errs
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // a daemon that it left behind has the output open
	}
	if err != nil {
		return out.String(), fmt.Errorf("%v: %w: %s%s", cmd.Args, err, errs.String(), out.String())
	}
	return out.String(), nil
}

// Need fails with the Debian package to install when a program is missing.
func Need(program, pkg string) error {
	if _, err := exec.LookPath(program); err == nil {
		return nil
	}
	if _, err := os.Stat(program); err == nil {
		return nil
	}
	return fmt.Errorf("%s is missing: install Debian's %s (test/deps.sh does)", program, pkg)
}
