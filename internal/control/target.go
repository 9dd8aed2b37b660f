package control

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Target finds the socket that ovs-appctl's --target names: a path, if it begins with a slash, or else the program whose pid file and
// socket lie in dir, as Open vSwitch's daemons place them. The pid file is believed only while the process that wrote it holds its lock.
func Target(dir, name string) (socket string, err error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	path := filepath.Join(dir, name+".pid")
	pid, err := readPid(path)
	if err != nil {
		return "", fmt.Errorf("cannot read pidfile %q (%s)", path, reason(err))
	}
	return filepath.Join(dir, fmt.Sprintf("%s.%d.ctl", name, pid)), nil
}

// readPid returns the pid in a pid file whose owner lives.
func readPid(path string) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock); err != nil {
		return 0, err
	}
	text, err := io.ReadAll(io.LimitReader(f, 64))
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil || pid <= 0 {
		return 0, fmt.Errorf("%q is not a process id", text)
	}
	// In another pid namespace the kernel gives the holder as 0 or -1; then the file's word has to do.
	if lock.Type == unix.F_UNLCK || (lock.Pid > 0 && int(lock.Pid) != pid) {
		return 0, unix.ESRCH
	}
	return pid, nil
}
