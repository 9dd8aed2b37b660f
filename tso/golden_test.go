package tso

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/gvswitch/gvswitch/packet"
)

// TestGolden runs the packets in testdata: frames in hex in, what became of them
// out. Arguments are the offload state, head=N how much of the frame is head and
// seg=N how long the segments of its tail are.
func TestGolden(t *testing.T) {
	for _, file := range []string{"segment", "complete", "sanity"} {
		datadriven.RunTest(t, "testdata/"+file, func(t *testing.T, d *datadriven.TestData) string {
			p, err := goldenPacket(t, d)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			switch d.Cmd {
			case "segment":
				s := Segmenter{Partial: d.HasArg("partial")}
				if !s.Start(p) {
					return "refused\n"
				}
				var out packet.Packet
				var text strings.Builder
				for s.Next(&out) {
					if out.Flags != 0 {
						fmt.Fprintf(&text, "csum_start=%d csum_offset=%d\n", out.CsumStart, out.CsumOffset)
					}
					text.WriteString(dump(out.AppendTo(nil)))
				}
				return text.String()
			case "complete":
				if !Complete(p) {
					return "refused\n"
				}
				return dump(p.AppendTo(nil))
			case "sanity":
				if !Sanity(p) {
					return "drop\n"
				}
				return "sane\n"
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	}
}

func goldenPacket(t *testing.T, d *datadriven.TestData) (*packet.Packet, error) {
	head, seg := packet.HeadCopy, 100
	p := new(packet.Packet)
	b := unhex(t, d.Input)
	for _, a := range d.CmdArgs {
		var n int
		if len(a.Vals) == 1 {
			if _, err := fmt.Sscan(a.Vals[0], &n); err != nil {
				return nil, err
			}
		}
		switch a.Key {
		case "head":
			head = n
		case "seg":
			seg = n
		case "pad":
			b = append(b, make([]byte, n)...)
		}
	}
	lend(p, b, head, seg)
	for _, a := range d.CmdArgs {
		var n int
		if len(a.Vals) == 1 {
			fmt.Sscan(a.Vals[0], &n) //nolint:errcheck // done above
		}
		switch a.Key {
		case "csum_start":
			p.Flags |= packet.CsumPartial
			p.CsumStart = uint16(n)
		case "csum_offset":
			p.CsumOffset = uint16(n)
		case "gso_type":
			p.GSOType = packet.GSOType(n)
		case "gso_size":
			p.GSOSize = uint16(n)
		case "hdr_len":
			p.HdrLen = uint16(n)
		case "head", "seg", "pad", "partial":
		default:
			return nil, fmt.Errorf("argument %s is unknown", a.Key)
		}
	}
	return p, nil
}

// dump is a frame by its parts, a line each.
func dump(b []byte) string {
	f, _, err := parse(b)
	if err != nil {
		return fmt.Sprintf("%x (%v)\n", b, err)
	}
	note := ""
	if err := verify(b); err != nil {
		note = fmt.Sprintf(" (%v)", err)
	}
	return fmt.Sprintf("%x\n  %x\n  %x\n  %x%s\n", f.l2, f.l3, f.l4, f.payload, note)
}
