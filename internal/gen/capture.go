package gen

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/gvswitch/gvswitch/packet"
)

// Capture is the frames of a capture file.
type Capture struct {
	data []byte
	ends []int // of each frame in data
}

// captureLimit is the most that is kept of a file, in bytes.
const captureLimit = 1 << 30

// captureReader is what the readers of both formats have.
type captureReader interface {
	ReadPacketData() ([]byte, gopacket.CaptureInfo, error)
	LinkType() layers.LinkType
}

// ReadCapture reads a file in the format pcap or pcapng, with frames of Ethernet that were captured whole.
func ReadCapture(path string) (*Capture, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, refuse("replay", path, "%v", errors.Unwrap(err))
	}
	defer f.Close()
	c, err := readCapture(f)
	if err != nil {
		return nil, refuse("replay", path, "%v", err)
	}
	return c, nil
}

func readCapture(f io.Reader) (*Capture, error) {
	in := bufio.NewReaderSize(f, 1<<20)
	magic, err := in.Peek(4)
	if err != nil {
		return nil, errors.New("too short for a capture")
	}
	var r captureReader
	if bytes.Equal(magic, []byte{0x0a, 0x0d, 0x0d, 0x0a}) {
		r, err = pcapgo.NewNgReader(in, pcapgo.NgReaderOptions{})
	} else {
		r, err = pcapgo.NewReader(in)
	}
	if err != nil {
		if strings.Contains(err.Error(), "Unknown magic") {
			err = errors.New("neither a pcap nor a pcapng file")
		}
		return nil, err
	}
	if t := r.LinkType(); t != layers.LinkTypeEthernet {
		return nil, fmt.Errorf("link type %v is not Ethernet", t)
	}
	c := &Capture{}
	for {
		b, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("frame %d: %w", len(c.ends)+1, err)
		}
		switch {
		case info.CaptureLength < info.Length:
			return nil, fmt.Errorf("frame %d: only %d of %d bytes were captured", len(c.ends)+1, info.CaptureLength, info.Length)
		case len(b) < packet.MinFrame || len(b) > packet.MaxFrame:
			return nil, fmt.Errorf("frame %d: %d bytes are not from %d to %d", len(c.ends)+1, len(b), packet.MinFrame, packet.MaxFrame)
		case len(c.data)+len(b) > captureLimit:
			return nil, fmt.Errorf("frame %d: more than %d bytes", len(c.ends)+1, captureLimit)
		}
		c.data = append(c.data, b...)
		c.ends = append(c.ends, len(c.data))
	}
	if len(c.ends) == 0 {
		return nil, errors.New("no frames")
	}
	return c, nil
}

// Frames is how many there are.
func (c *Capture) Frames() int { return len(c.ends) }

// Longest is the length of the longest frame in bytes.
func (c *Capture) Longest() (longest int) {
	at := 0
	for _, end := range c.ends {
		longest, at = max(longest, end-at), end
	}
	return longest
}

func (c *Capture) source() *replay { return &replay{Capture: c} }

// replay sends a capture's frames over and over. It implements Source.
type replay struct {
	*Capture
	next, at int
}

// MeanSize implements Source.
func (r *replay) MeanSize() float64 { return float64(len(r.data)) / float64(len(r.ends)) }

// Prepare implements Source.
func (r *replay) Prepare(*packet.Burst) {}

// Fill implements Source.
func (r *replay) Fill(b *packet.Burst, n int, _ uint32) (bytes uint64) {
	for i := range n {
		end := r.ends[r.next]
		b.Pkts[i].SetBytes(r.data[r.at:end])
		bytes += uint64(end - r.at)
		r.at = end
		if r.next++; r.next == len(r.ends) {
			r.next, r.at = 0, 0
		}
	}
	return bytes
}
