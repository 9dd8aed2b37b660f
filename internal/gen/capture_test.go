package gen

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/gvswitch/gvswitch/internal/pcapng"
	"github.com/gvswitch/gvswitch/packet"
)

var captured = [][]byte{bytes.Repeat([]byte{1}, 60), bytes.Repeat([]byte{2}, 200), bytes.Repeat([]byte{3}, 14), bytes.Repeat([]byte{4}, 9000)}

// pcapFile is the frames in the classic format.
func pcapFile(t *testing.T, link layers.LinkType, cut int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := pcapgo.NewWriter(&b)
	if err := w.WriteFileHeader(65535, link); err != nil {
		t.Fatal(err)
	}
	for _, f := range captured {
		n := min(cut, len(f))
		if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(1, 0), CaptureLength: n, Length: len(f)}, f[:n]); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func pcapngFile(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := pcapng.NewWriter(&b, pcapng.Interface{Name: "x"})
	for _, f := range captured {
		if err := w.Write(&pcapng.Packet{Len: uint32(len(f)), Data: f}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(pcapng.Stats{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Both formats give the frames, over and over, in bursts of any size.
func TestReplay(t *testing.T) {
	for name, file := range map[string][]byte{"pcap": pcapFile(t, layers.LinkTypeEthernet, 1<<16), "pcapng": pcapngFile(t)} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := ReadCapture(path)
		if err != nil {
			t.Fatal(err)
		}
		if c.Frames() != 4 || c.Longest() != 9000 || c.source().MeanSize() != (60+200+14+9000)/4.0 {
			t.Errorf("%s: %d frames, %d at most", name, c.Frames(), c.Longest())
		}
		all, _ := frames(c.source(), 23)
		for i, f := range all {
			if !bytes.Equal(f, captured[i%4]) {
				t.Errorf("%s: frame %d has %d bytes", name, i, len(f))
			}
		}
		s, b := c.source(), new(packet.Burst)
		if n := testing.AllocsPerRun(100, func() { s.Fill(b, 32, 0) }); n != 0 {
			t.Errorf("%v allocations a burst", n)
		}
	}
}

func TestBadCaptures(t *testing.T) {
	short := pcapFile(t, layers.LinkTypeEthernet, 1<<16)
	runt := append([]byte(nil), pcapFile(t, layers.LinkTypeEthernet, 1<<16)...)
	binary.LittleEndian.PutUint32(runt[24+8:], 13)
	binary.LittleEndian.PutUint32(runt[24+12:], 13)
	for _, c := range []struct {
		file []byte
		want string
	}{
		{nil, "too short"},
		{[]byte("this is a text, and a long one"), "neither a pcap nor a pcapng file"},
		{short[:24], "no frames"},
		{short[:len(short)-5], "frame 4"},
		{pcapFile(t, layers.LinkTypeRaw, 1<<16), "Ethernet"},
		{pcapFile(t, layers.LinkTypeEthernet, 100), "only 100 of 200 bytes"},
		{runt, "13 bytes"},
		{pcapngFile(t)[:50], ""},
	} {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, c.file, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadCapture(path)
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(c.want)) || !strings.Contains(err.Error(), "--replay "+path) {
			t.Errorf("error %v, want one about %q", err, c.want)
		}
	}
	if _, err := ReadCapture("/nowhere/x"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("error %v", err)
	}
}
