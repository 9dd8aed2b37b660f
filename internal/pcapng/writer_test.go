package pcapng

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

func data(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7)
	}
	return b
}

// What is written, another library reads back.
func TestRoundTrip(t *testing.T) {
	packets := []Packet{
		{Time: 1_700_000_000_123_456_789, Dir: Inbound, Len: 60, Data: data(60)},
		{Time: 1_700_000_000_123_456_790, Dir: Outbound, Len: 61, Data: data(61)},
		{Time: 1_700_000_001_000_000_000, Dir: Inbound, Len: 1500, Data: data(99), Comment: "dropped: no_rule"},
		{Time: 1_700_000_001_000_000_001, Len: 14, Data: data(14), Comment: "x"},
		{Time: 1_700_000_001_000_000_002, Dir: Outbound, Len: 65535, Data: data(65535), Comment: "four"},
	}
	var out bytes.Buffer
	w := NewWriter(&out, Interface{Name: "vm0", Description: "port vm0 of br0", Filter: "tcp", Snaplen: 1 << 18, Application: "gvswitchd"})
	for i := range packets {
		if err := w.Write(&packets[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(Stats{Start: packets[0].Time, End: packets[4].Time, Accepted: 5, Missed: 3}); err != nil {
		t.Fatal(err)
	}
	r, err := pcapgo.NewNgReader(&out, pcapgo.NgReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if a := r.SectionInfo().Application; a != "gvswitchd" {
		t.Errorf("application %q", a)
	}
	for k, p := range packets {
		got, ci, opts, err := r.ReadPacketDataWithOptions()
		if err != nil {
			t.Fatalf("packet %d: %v", k, err)
		}
		var dir Direction
		if opts.Flags != nil {
			dir = Direction(opts.Flags.Direction)
		}
		var comments []string
		if p.Comment != "" {
			comments = []string{p.Comment}
		}
		if !bytes.Equal(got, p.Data) || ci.Length != int(p.Len) || ci.Timestamp.UnixNano() != p.Time || dir != p.Dir || !slices.Equal(opts.Comments, comments) {
			t.Errorf("packet %d: got %v %d %v %v %q", k, ci.Timestamp, ci.Length, len(got), dir, opts.Comments)
		}
	}
	if _, _, _, err := r.ReadPacketDataWithOptions(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	i, err := r.Interface(0)
	if err != nil {
		t.Fatal(err)
	}
	if i.Name != "vm0" || i.Description != "port vm0 of br0" || i.Filter != "tcp" || i.LinkType != layers.LinkTypeEthernet || i.SnapLength != 1<<18 {
		t.Errorf("interface %+v", i)
	}
	s := i.Statistics
	if s.PacketsReceived != 8 || s.PacketsDropped != 3 || !s.StartTime.Equal(time.Unix(0, packets[0].Time)) || !s.EndTime.Equal(time.Unix(0, packets[4].Time)) {
		t.Errorf("statistics %+v", s)
	}
}

// Any packet gives a block that is read back.
func FuzzWriter(f *testing.F) {
	f.Add([]byte("abc"), uint32(3), int64(5), "c")
	f.Add([]byte{}, uint32(0), int64(-1), "")
	f.Fuzz(func(t *testing.T, b []byte, n uint32, at int64, comment string) {
		n = max(n, uint32(len(b)))
		var out bytes.Buffer
		w := NewWriter(&out, Interface{Name: comment})
		if err := w.Write(&Packet{Time: at & (1<<62 - 1), Data: b, Len: n, Comment: comment}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(Stats{}); err != nil {
			t.Fatal(err)
		}
		r, err := pcapgo.NewNgReader(&out, pcapgo.NgReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, ci, _, err := r.ReadPacketDataWithOptions()
		if err != nil || !bytes.Equal(got, b) || uint32(ci.Length) != n {
			t.Errorf("%v: %d bytes of %d, %d given", err, len(got), ci.Length, len(b))
		}
	})
}

func TestNoAllocation(t *testing.T) {
	w := NewWriter(io.Discard, Interface{Name: "p"})
	p := Packet{Len: 1500, Data: data(1500), Comment: "dropped: no_rule", Dir: Inbound}
	if n := testing.AllocsPerRun(1000, func() { _ = w.Write(&p) }); n != 0 {
		t.Errorf("%v allocations a packet", n)
	}
}
