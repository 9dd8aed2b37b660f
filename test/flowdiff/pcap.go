package flowdiff

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

// pcapReader reads what has been added to a capture file (pcap-savefile(5)) since it last did, written on
// this machine.
type pcapReader struct {
	path string
	f    *os.File
	rest []byte
	head bool // the file's header has been passed
}

const (
	fileHeader   = 24
	recordHeader = 16
)

func (p *pcapReader) read() ([][]byte, error) {
	if p.f == nil {
		var err error
		if p.f, err = os.Open(p.path); err != nil {
			return nil, fmt.Errorf("capture: %w", err)
		}
	}
	b, err := io.ReadAll(p.f)
	if err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	p.rest = append(p.rest, b...)
	if !p.head {
		if len(p.rest) < fileHeader {
			return nil, nil
		}
		p.rest, p.head = p.rest[fileHeader:], true
	}
	var frames [][]byte
	for len(p.rest) >= recordHeader {
		n := recordHeader + int(binary.NativeEndian.Uint32(p.rest[8:]))
		if len(p.rest) < n {
			break
		}
		frames = append(frames, append([]byte(nil), p.rest[recordHeader:n]...))
		p.rest = p.rest[n:]
	}
	return frames, nil
}
