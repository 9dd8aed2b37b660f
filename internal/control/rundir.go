package control

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/jsonrpc"
	"github.com/gvswitch/gvswitch/internal/unixsock"
)

// RunDir is a run directory that this process has to itself: it holds the lock on the pid file in it. Everything that Claim and
// Listen put there is taken away by Close; a kill -9 leaves the files but not the lock, and the next Claim replaces them.
//
// The lock is a POSIX record lock, because that is what Open vSwitch's tools look for before they believe a pid file. The kernel drops
// such a lock as soon as its process closes any descriptor of the file, so nothing else in this process may open the pid file.
type RunDir struct {
	path    string
	pidFile *os.File
	placed  []string // files to remove at Close, in order of creation
}

// Claim makes the directory if it is missing, takes it for this process and writes the pid files (gvswitchd.pid, and
// ovs-vswitchd.pid for Open vSwitch's tools). It fails when another process has it.
func Claim(dir string) (*RunDir, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("run directory %s: %w", dir, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	if n := len(Socket(dir)); n > unixsock.MaxPath {
		return nil, fmt.Errorf("run directory %s: the path of %s in it would have %d bytes, but a unix socket path has at most %d", dir, socketName, n, unixsock.MaxPath)
	}
	r := &RunDir{path: dir}
	if err := r.lock(); err != nil {
		return nil, err
	}
	if err := r.placeOVSPid(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Path returns the directory, absolute.
func (r *RunDir) Path() string { return r.path }

// lock takes the pid file and writes the pid.
func (r *RunDir) lock() error {
	path := filepath.Join(r.path, pidName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return fmt.Errorf("pid file: %w", err)
	}
	whole := unix.Flock_t{Type: unix.F_WRLCK}
	err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &whole)
	for start := time.Now(); err != nil && leaves(lockPid(f), time.Since(start)); {
		time.Sleep(10 * time.Millisecond)
		err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &whole)
	}
	if err != nil {
		defer f.Close()
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
			return fmt.Errorf("run directory %s is in use by another gvswitchd%s; stop it or choose another with --run-dir", r.path, holder(f))
		}
		return fmt.Errorf("pid file %s: lock: %w", path, err)
	}
	if err := writePid(f); err != nil {
		f.Close()
		return fmt.Errorf("pid file %s: %w", path, err)
	}
	r.pidFile = f
	r.placed = append(r.placed, path)
	return nil
}

// holder says which process holds the lock on f, as ", pid N", or nothing when that cannot be found out.
func holder(f *os.File) string {
	if pid := lockPid(f); pid > 0 {
		return fmt.Sprintf(", pid %d", pid)
	}
	return ""
}

// lockPid is the process that holds the lock on f, 0 when none does and -1 when it cannot be found out.
func lockPid(f *os.File) int {
	l := unix.Flock_t{Type: unix.F_WRLCK}
	switch err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &l); {
	case err != nil || l.Type != unix.F_UNLCK && l.Pid <= 0:
		return -1
	case l.Type == unix.F_UNLCK:
		return 0
	}
	return int(l.Pid)
}

const (
	killWait = 300 * time.Millisecond // from kill -9 until it shows that the process leaves
	exitWait = 10 * time.Second
)

// leaves reports whether the process that holds a lock may be about to leave, after that time of waiting for it. One that was killed
// holds its locks until the kernel has unmapped its guests' memory and closed its devices, and not everybody waits for that before
// starting the next.
func leaves(pid int, waited time.Duration) bool {
	return waited < killWait || waited < exitWait && exiting(pid)
}

// exiting reports whether the process is on its way out (proc(5): the flags of the kernel are the seventh field after the name).
func exiting(pid int) bool {
	if pid <= 0 {
		return pid == 0
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return true
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if err != nil || len(fields) < 7 {
		return false
	}
	const pfExiting = 0x4 // PF_EXITING of linux/sched.h
	flags, err := strconv.ParseUint(fields[6], 10, 32)
	return err == nil && flags&pfExiting != 0
}

func writePid(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// placeOVSPid makes ovs-vswitchd.pid a link to the pid file. One that a running ovs-vswitchd holds is left alone: two switches on one
// run directory would take each other's sockets.
func (r *RunDir) placeOVSPid() error {
	path := filepath.Join(r.path, ovsPidName)
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return fmt.Errorf("pid file: %w", err)
		}
		defer f.Close()
		if who := holder(f); who != "" {
			return fmt.Errorf("run directory %s is in use by ovs-vswitchd%s; stop it or choose another with --run-dir", r.path, who)
		}
	}
	return r.link(pidName, ovsPidName)
}

// link makes name, in the run directory, a symbolic link to target, in place of whatever was there.
func (r *RunDir) link(target, name string) error {
	path := filepath.Join(r.path, name)
	tmp := path + ".new"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Symlink(target, tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	r.placed = append(r.placed, path)
	return nil
}

// Listen opens the command socket, gvswitchd.ctl, and links ovs-vswitchd.PID.ctl to it. The caller closes the listener.
func (r *RunDir) Listen() (*net.UnixListener, error) {
	r.dropStaleLinks()
	l, err := jsonrpc.ListenUnix(Socket(r.path), 0o600, -1)
	if err != nil {
		return nil, fmt.Errorf("command socket: %w", err)
	}
	r.placed = append(r.placed, Socket(r.path))
	if err := r.link(socketName, fmt.Sprintf("%s.%d.ctl", ovsProgram, os.Getpid())); err != nil {
		return nil, errors.Join(fmt.Errorf("command socket: %w", err), l.Close())
	}
	return l, nil
}

// dropStaleLinks removes the socket links that killed processes left, told from others by what they point to.
func (r *RunDir) dropStaleLinks() {
	entries, err := os.ReadDir(r.path)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 || !strings.HasPrefix(e.Name(), ovsProgram+".") || !strings.HasSuffix(e.Name(), ".ctl") {
			continue
		}
		path := filepath.Join(r.path, e.Name())
		if target, err := os.Readlink(path); err == nil && target == socketName {
			_ = os.Remove(path) // one that stays is overwritten or harmless
		}
	}
}

// Close removes what was placed in the directory and gives up the lock, the lock last.
func (r *RunDir) Close() error {
	var errs []error
	for i := len(r.placed) - 1; i >= 0; i-- {
		if err := os.Remove(r.placed[i]); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	r.placed = nil
	if r.pidFile != nil {
		errs = append(errs, r.pidFile.Close())
		r.pidFile = nil
	}
	return errors.Join(errs...)
}
