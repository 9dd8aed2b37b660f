package flowtest

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/internal/hdr"
)

// addresses is where a frame's tags begin.
const addresses = 12

// maxTags is how many tags a frame is looked at for; what is behind is payload.
const maxTags = 2

// retag takes the tags, two at most, off a frame, and puts on those of text: none, or from the outer one
// [TPID:]VID[/pPCP], with + between them.
func retag(b []byte, text string) ([]byte, error) {
	var tags []byte
	if text != "none" {
		for t := range strings.SplitSeq(text, "+") {
			tag, err := parseTag(t)
			if err != nil {
				return nil, err
			}
			tags = binary.BigEndian.AppendUint32(tags, tag)
		}
	}
	rest := b[addresses+hdr.VLANLen*countTags(b):]
	out := append([]byte(nil), b[:addresses]...)
	return append(append(out, tags...), rest...), nil
}

func countTags(b []byte) int {
	n := 0
	for at := addresses; n < maxTags && at+hdr.VLANLen+2 <= len(b) && hdr.IsVLAN(binary.BigEndian.Uint16(b[at:])); at += hdr.VLANLen {
		n++
	}
	return n
}

func parseTag(text string) (uint32, error) {
	tag := uint64(hdr.TypeVLAN)
	vid, err := text, error(nil)
	if tpid, v, ok := strings.Cut(text, ":"); ok {
		if tag, err = strconv.ParseUint(tpid, 0, 16); err != nil {
			return 0, fmt.Errorf("tag %q: %q is no EtherType", text, tpid)
		}
		vid = v
	}
	vid, pcp, _ := strings.Cut(vid, "/p")
	v, err := strconv.ParseUint(vid, 10, 12)
	if err != nil {
		return 0, fmt.Errorf("tag %q: not [TPID:]VID[/pPCP]", text)
	}
	p := uint64(0)
	if pcp != "" {
		if p, err = strconv.ParseUint(pcp, 10, 3); err != nil {
			return 0, fmt.Errorf("tag %q: priority %q: not 0 to 7", text, pcp)
		}
	}
	return uint32(tag<<16 | p<<hdr.PCPShift | v), nil
}

// tagsText is text for retag that makes b's tags.
func tagsText(b []byte) string {
	var all []string
	for i := range countTags(b) {
		tag := binary.BigEndian.Uint32(b[addresses+hdr.VLANLen*i:])
		t := strconv.Itoa(int(tag & hdr.VIDMask))
		if tag>>16 != hdr.TypeVLAN {
			t = fmt.Sprintf("%#x:%s", tag>>16, t)
		}
		if p := tag >> hdr.PCPShift & 7; p != 0 {
			t += fmt.Sprintf("/p%d", p)
		}
		all = append(all, t)
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, "+")
}
