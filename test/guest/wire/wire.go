// Package wire is the line protocol between the test harness and the agent in
// a guest, over a serial line.
//
// Each message is one line: a verb, the number of the request, an argument.
//
//	host to guest   put N BASE64     a piece of a command; answered by ok
//	                run N SECONDS    run the command, killed after SECONDS
//	                poweroff 0 -
//	guest to host   ready 0 SECONDS  the network is up; the guest's uptime
//	                warn 0 BASE64    something in the setup failed
//	                ok N -
//	                out N BASE64     a piece of the command's stdout
//	                err N BASE64     a piece of its stderr
//	                exit N CODE
//
// Lines are short, because a serial line loses what its buffer cannot hold. The
// package has no state.
package wire

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// MaxChunk is how many bytes travel in one line.
const MaxChunk = 720

// TimeoutCode is the exit code of a command that was killed because its time
// was over, as timeout(1) has it.
const TimeoutCode = 124

// Message is one line.
type Message struct {
	Verb string
	ID   int
	Arg  string
}

// Line is the message as it travels, with its end of line.
func (m Message) Line() []byte {
	arg := m.Arg
	if arg == "" {
		arg = "-"
	}
	return fmt.Appendf(nil, "%s %d %s\n", m.Verb, m.ID, arg)
}

// Parse reads a line. Anything else that appears on the line, such as noise from
// the firmware, is no message.
func Parse(line string) (Message, bool) {
	f := strings.Fields(line)
	if len(f) != 3 {
		return Message{}, false
	}
	id, err := strconv.Atoi(f[1])
	if err != nil {
		return Message{}, false
	}
	return Message{f[0], id, f[2]}, true
}

// Chunks cuts data into messages of the given verb.
func Chunks(verb string, id int, data []byte) []Message {
	var ms []Message
	for len(data) > 0 {
		n := min(len(data), MaxChunk)
		ms = append(ms, Message{verb, id, base64.StdEncoding.EncodeToString(data[:n])})
		data = data[n:]
	}
	return ms
}

// Bytes decodes the argument of a message made by Chunks.
func (m Message) Bytes() ([]byte, error) {
	return base64.StdEncoding.DecodeString(m.Arg)
}
