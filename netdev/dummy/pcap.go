package dummy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// pcapFile is a capture file in the classic format of libpcap (pcap-savefile(5)),
// little endian, microseconds, Ethernet. A nil one takes frames and forgets them.
type pcapFile struct {
	f *os.File

	mu  sync.Mutex
	buf []byte
}

// snapLen is the longest frame that the file may hold.
const snapLen = 262144

// pcapFiles opens each file once, whatever it is for.
type pcapFiles map[string]*pcapFile

func (m pcapFiles) open(path string) (*pcapFile, error) {
	if path == "" || m[path] != nil {
		return m[path], nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("capture file: %w", err)
	}
	head := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	head = append(head, 2, 0, 4, 0) // version 2.4
	head = append(head, make([]byte, 8)...)
	head = binary.LittleEndian.AppendUint32(head, snapLen)
	head = binary.LittleEndian.AppendUint32(head, 1) // LINKTYPE_ETHERNET
	if _, err := f.Write(head); err != nil {
		return nil, errors.Join(fmt.Errorf("capture file: %w", err), f.Close())
	}
	m[path] = &pcapFile{f: f}
	return m[path], nil
}

func (m pcapFiles) close() error {
	var errs []error
	for _, p := range m {
		errs = append(errs, p.f.Close())
	}
	return errors.Join(errs...)
}

// write appends a frame. A full disk ends the capture, not the switch.
func (p *pcapFile) write(frame []byte) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.buf = binary.LittleEndian.AppendUint32(p.buf[:0], uint32(now.Unix()))
	p.buf = binary.LittleEndian.AppendUint32(p.buf, uint32(now.Nanosecond()/1000))
	p.buf = binary.LittleEndian.AppendUint32(p.buf, uint32(len(frame)))
	p.buf = binary.LittleEndian.AppendUint32(p.buf, uint32(len(frame)))
	p.buf = append(p.buf, frame...)
	_, _ = p.f.Write(p.buf)
}
