package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// chunk is how much text goes to gvswitchd in one message.
const chunk = 4 << 20

var errPacketOut = errors.New("packet-out takes in_port=PORT,packet=HEX,actions=ACTIONS, or PORT ACTIONS PACKET...")

func checkFrags(mode string) error {
	switch mode {
	case "normal":
		return nil
	case "drop", "reassemble", "nx-match":
		return fmt.Errorf("set-frags: mode %s is not in this version; fragments are handled as with normal", mode)
	default:
		return fmt.Errorf("%s: unknown fragment handling mode", mode)
	}
}

// readInput reads a file, "-" being standard input.
func readInput(name string) (string, error) {
	var text []byte
	var err error
	if name == "-" {
		text, err = io.ReadAll(os.Stdin)
	} else {
		text, err = os.ReadFile(name)
	}
	var path *os.PathError
	if errors.As(err, &path) {
		return "", fmt.Errorf("%s: open failed (%s)", name, capital(path.Err.Error()))
	}
	return string(text), err
}

// inputName is how errors call what readInput read.
func inputName(name string) string {
	if name == "-" {
		return "<stdin>"
	}
	return name
}

// capital is text with a capital, as strerror(3) has it.
func capital(text string) string {
	if text != "" && 'a' <= text[0] && text[0] <= 'z' {
		return string(text[0]-'a'+'A') + text[1:]
	}
	return text
}

// send runs one of gvswitchd's commands with a text of any length, which goes before it in pieces if it is long, and prints the reply.
func (c *flowCall) send(text, command string, args ...string) error {
	if len(text) <= chunk {
		return c.show("", command, append(args, text)...)
	}
	for len(text) > 0 {
		n := min(len(text), chunk)
		// A piece must be valid UTF-8 to go through JSON unchanged.
		for n < len(text) && text[n]&0xc0 == 0x80 {
			n--
		}
		if _, err := c.ask("ofctl/stage", text[:n]); err != nil {
			return err
		}
		text = text[n:]
	}
	return c.show("", command, args...)
}
