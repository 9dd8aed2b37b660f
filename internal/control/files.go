package control

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// maxFiles is how many files of a connection may wait for the command that they are for.
const maxFiles = 4

// filesKey finds a connection's files in the context of its commands.
type filesKey struct{}

// TakeFile returns the oldest file that the client passed and no command has taken (SCM_RIGHTS, see unix(7)). The caller closes it.
// It fails if there is none.
func TakeFile(ctx context.Context) (*os.File, error) {
	c, _ := ctx.Value(filesKey{}).(*fileConn)
	if c == nil {
		return nil, errors.New("no file can be passed over this connection")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.files) == 0 {
		return nil, errors.New("the client passed no file (this command is for gvsctl)")
	}
	f := c.files[0]
	c.files = c.files[1:]
	return f, nil
}

// fileConn is a connection over which files may come, and one may go with the next bytes that are written.
type fileConn struct {
	*net.UnixConn
	oob [256]byte // the reader's

	mu     sync.Mutex
	files  []*os.File
	closed bool
	out    *os.File // goes with the next Write
}

// Read reads, and keeps the files that came with the bytes. Those that are too many are closed.
func (c *fileConn) Read(b []byte) (int, error) {
	n, oobn, _, _, err := c.ReadMsgUnix(b, c.oob[:])
	if oobn > 0 {
		c.keep(c.oob[:oobn])
	}
	if err == nil && n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return max(n, 0), err
}

func (c *fileConn) keep(oob []byte) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			c.add(fd)
		}
	}
}

func (c *fileConn) add(fd int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.files) >= maxFiles || unix.SetNonblock(fd, true) != nil {
		_ = unix.Close(fd)
		return
	}
	c.files = append(c.files, os.NewFile(uintptr(fd), "passed file"))
}

// Write writes, with the file that is to go.
func (c *fileConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	f := c.out
	c.out = nil
	c.mu.Unlock()
	if f == nil || len(b) == 0 {
		return c.UnixConn.Write(b)
	}
	n, _, err := c.WriteMsgUnix(b, unix.UnixRights(int(f.Fd())), nil)
	if err == nil && n < len(b) {
		var more int
		more, err = c.UnixConn.Write(b[n:])
		n += more
	}
	return n, err
}

// send lets f go with what is written next.
func (c *fileConn) send(f *os.File) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = f
}

// Close closes the connection and the files that nobody took.
func (c *fileConn) Close() error {
	c.mu.Lock()
	for _, f := range c.files {
		_ = f.Close()
	}
	c.files, c.closed = nil, true
	c.mu.Unlock()
	return c.UnixConn.Close()
}
