package guest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"
)

// qmp is a connection to QEMU's monitor (docs/interop/qmp-spec of QEMU): one request at a time;
// events in between are not looked at.
type qmp struct {
	conn net.Conn
	in   *bufio.Scanner
}

// qmpTime is how long QEMU may take for an answer.
const qmpTime = 10 * time.Second

func qmpSocket(dir string) string { return filepath.Join(dir, "qmp") }

// dialQMP connects to a QEMU that may be about to start.
func dialQMP(dir string, gone <-chan struct{}) (*qmp, error) {
	var err error
	for end := time.Now().Add(qmpTime); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var c net.Conn
		if c, err = net.Dial("unix", qmpSocket(dir)); err == nil {
			q := &qmp{c, bufio.NewScanner(c)}
			q.in.Buffer(nil, 1<<20)
			if err = q.call("qmp_capabilities", nil, nil); err != nil {
				q.close()
			}
			return q, err
		}
		select {
		case <-gone:
			return nil, errors.New("QEMU ended")
		default:
		}
	}
	return nil, err
}

func (q *qmp) close() { _ = q.conn.Close() }

// call runs a command and puts what it returns in result.
func (q *qmp) call(command string, arguments, result any) error {
	request := map[string]any{"execute": command}
	if arguments != nil {
		request["arguments"] = arguments
	}
	b, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if err := q.conn.SetDeadline(time.Now().Add(qmpTime)); err != nil {
		return err
	}
	if _, err := q.conn.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	for q.in.Scan() {
		var m struct {
			Return json.RawMessage
			Error  *struct{ Desc string }
		}
		if err := json.Unmarshal(q.in.Bytes(), &m); err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
		switch {
		case m.Error != nil:
			return fmt.Errorf("%s: %s", command, m.Error.Desc)
		case m.Return == nil: // greeting or event
		case result == nil:
			return nil
		default:
			return json.Unmarshal(m.Return, result)
		}
	}
	return fmt.Errorf("%s: no answer: %w", command, errors.Join(q.in.Err(), net.ErrClosed))
}
