package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/jsonrpc"
)

// CommandError is what the switch said in place of a result. Its text ends with a newline, as it came.
type CommandError struct{ Text string }

func (e *CommandError) Error() string { return e.Text }

// Client is a connection to a command socket. Its methods may be called from any goroutine; the switch runs the commands in turn.
type Client struct {
	conn   *jsonrpc.Conn
	files  *fileConn
	socket string
}

// Dial connects to the socket.
func Dial(ctx context.Context, socket string) (*Client, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, &dialError{fmt.Sprintf("cannot connect to %q (%s)", socket, reason(err)), err}
	}
	files := &fileConn{UnixConn: conn.(*net.UnixConn)}
	c := &Client{conn: jsonrpc.NewConn(files, nil), files: files, socket: socket}
	go func() { _ = c.conn.Serve(context.Background()) }() // its end shows in the calls
	return c, nil
}

// dialError has ovs-appctl's text and the system's error.
type dialError struct {
	text string
	err  error
}

func (e *dialError) Error() string { return e.text }
func (e *dialError) Unwrap() error { return e.err }

// reason is the system's word for err, without the operation and address that the caller names anyway.
func reason(err error) string {
	var errno unix.Errno
	switch {
	case errors.As(err, &errno):
		return errnoText(errno)
	case errors.Is(err, context.DeadlineExceeded):
		return "timed out"
	default:
		return err.Error()
	}
}

// errnoText is strerror(3)'s text for the errors that a user meets here; Go's own begin in lower case.
func errnoText(e unix.Errno) string {
	text := []byte(e.Error())
	if len(text) > 0 && 'a' <= text[0] && text[0] <= 'z' {
		text[0] -= 'a' - 'A'
	}
	return string(text)
}

// Close ends the connection; a command that runs is told so by its context.
func (c *Client) Close() error { return c.conn.Close() }

// Call runs a command and returns its text. What the switch refuses is a *CommandError.
func (c *Client) Call(ctx context.Context, command string, args ...string) (string, error) {
	var text string
	err := c.call(ctx, command, args, &text)
	return text, err
}

// SetJSON chooses JSON for the replies to the following CallJSON.
func (c *Client) SetJSON(ctx context.Context) error {
	_, err := c.Call(ctx, setOptions, "--format", "json")
	return err
}

// CallJSON runs a command after SetJSON and returns its value. A command that has only a text gives an object with the members
// "reply-format" and "reply".
func (c *Client) CallJSON(ctx context.Context, command string, args ...string) (json.RawMessage, error) {
	var value json.RawMessage
	err := c.call(ctx, command, args, &value)
	return value, err
}

// CallFile is Call with a file that the command gets, see TakeFile. The caller may close f when it returns.
func (c *Client) CallFile(ctx context.Context, f *os.File, command string, args ...string) (string, error) {
	c.files.send(f)
	return c.Call(ctx, command, args...)
}

func (c *Client) call(ctx context.Context, command string, args []string, result any) error {
	if args == nil {
		args = []string{}
	}
	err := c.conn.Call(ctx, command, args, result)
	var refused *jsonrpc.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return &CommandError{Text: refused.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: no reply from %s in time", command, c.socket)
	default:
		return fmt.Errorf("%s: transaction error (%w)", c.socket, err)
	}
}

// Call connects, runs one command and returns its text.
func Call(ctx context.Context, socket, command string, args ...string) (string, error) {
	c, err := Dial(ctx, socket)
	if err != nil {
		return "", err
	}
	defer c.Close()
	return c.Call(ctx, command, args...)
}
