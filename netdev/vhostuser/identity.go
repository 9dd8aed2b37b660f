package vhostuser

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// identity names the front end behind a connection, so that one that connects anew can be told from
// another in its place; "" if that cannot be found out. For a front end that connects it is the process. One that
// listens may have its socket from somebody else (libvirt makes it for QEMU), but then it is a new file.
func (d *Device) identity(c *net.UnixConn) string {
	if d.server {
		return processOf(c)
	}
	return fileOf(d.set.path)
}

// processOf names the process that connected: its number, when it was started and in which life of the machine.
func processOf(c *net.UnixConn) string {
	raw, err := c.SyscallConn()
	if err != nil {
		return ""
	}
	var cred *unix.Ucred
	if cerr := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); cerr != nil || err != nil || cred.Pid <= 0 {
		return "" // in another PID namespace, for example
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cred.Pid))
	if err != nil {
		return ""
	}
	// proc(5): the second field is the command in parentheses, the 22nd when it started.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 {
		return ""
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return fmt.Sprintf("process %d, started at %s ticks of boot %s", cred.Pid, fields[19], strings.TrimSpace(string(boot)))
}

// fileOf names a socket's file.
func fileOf(path string) string {
	st, err := os.Stat(path)
	if err != nil {
		return ""
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("socket %d:%d, made %d.%09d", sys.Dev, sys.Ino, sys.Mtim.Sec, sys.Mtim.Nsec)
}
