package pager

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"

	"golang.org/x/sys/unix"
)

// Pager is a process that fetches pages.
type Pager struct {
	cmd     *exec.Cmd
	sock    int
	answers chan answer
	news    func()
	over    chan struct{} // closed when it has ended

	mu   sync.Mutex
	done []uint64
}

type answer struct {
	message
	fd int
}

// Available tells whether pages can be fetched on this machine.
func Available() error {
	fd, err := openUserfault()
	if err != nil {
		return fmt.Errorf("userfaultfd: %w", err)
	}
	return unix.Close(fd)
}

// Start starts the process. news is called, from a goroutine, when there is something for Done.
func Start(news func()) (*Pager, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	theirs := os.NewFile(uintptr(fds[1]), "pager")
	defer theirs.Close()
	p := &Pager{cmd: exec.Command("/proc/self/exe"), sock: fds[0], answers: make(chan answer, 1), news: news, over: make(chan struct{})}
	p.cmd.Args = []string{name}
	p.cmd.Env = []string{"GODEBUG=asyncpreemptoff=1"} // a signal would make a thread ask for its page once more
	p.cmd.ExtraFiles = []*os.File{theirs}
	if err := p.cmd.Start(); err != nil {
		_ = unix.Close(p.sock)
		return nil, fmt.Errorf("process for postcopy: %w", err)
	}
	go p.listen()
	return p, nil
}

// listen takes what the process says until it ends.
func (p *Pager) listen() {
	defer close(p.over)
	for {
		m, fd, err := receive(p.sock)
		if err != nil {
			close(p.answers)
			return
		}
		if m.op != opTouch {
			p.answers <- answer{m, fd}
			continue
		}
		p.mu.Lock()
		p.done = append(p.done, m.a)
		p.mu.Unlock()
		p.news()
	}
}

// ask sends a message and waits for its answer, which never waits for a page.
func (p *Pager) ask(m message, fds ...int) (answer, error) {
	if err := send(p.sock, m, fds...); err != nil {
		return answer{}, err
	}
	a, ok := <-p.answers
	if !ok {
		return a, errors.New("the process for postcopy has ended")
	}
	return a, a.err()
}

// Userfault makes a userfaultfd, which the caller owns. The first is the one that pages are brought by.
func (p *Pager) Userfault() (int, error) {
	a, err := p.ask(message{op: opFault})
	if err == nil && a.fd < 0 {
		err = errors.New("no descriptor")
	}
	if err != nil {
		return -1, fmt.Errorf("userfaultfd: %w", err)
	}
	return a.fd, nil
}

// Map maps size bytes of a file from offset, both whole pages of it, and returns where.
func (p *Pager) Map(fd int, offset, size uint64) (uint64, error) {
	a, err := p.ask(message{op: opMap, a: offset, b: size}, fd)
	return a.a, err
}

// Register lets what was mapped since the last time be fetched from now on. Nobody has touched it.
func (p *Pager) Register() error {
	_, err := p.ask(message{op: opRegister})
	return err
}

// Touch fetches the page at addr; Done will have id when it is there. No more than MaxTouches at a time.
func (p *Pager) Touch(id, addr uint64) error {
	return send(p.sock, message{op: opTouch, a: id, b: addr})
}

// Done is the ids of what has been fetched since the last call.
func (p *Pager) Done() []uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.done
	p.done = nil
	return d
}

// Close ends the process, whatever it waits for. Nobody else is using the Pager.
func (p *Pager) Close() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	_ = unix.Shutdown(p.sock, unix.SHUT_RDWR)
	<-p.over
	_ = unix.Close(p.sock)
}
