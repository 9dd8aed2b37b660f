package datapath

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// portSpec reads "access 10", "trunk", "trunk 1,2", "native-tagged 5 5,6", "tag 7",
// and a last word "prio=if-nonzero" or "prio=always".
func portSpec(s string) PortConfig {
	c := PortConfig{Tag: -1, AdminUp: true}
	for i, w := range strings.Fields(s) {
		if strings.HasPrefix(w, "prio=") {
			c.PriorityTags = map[string]PriorityTags{"prio=if-nonzero": PriorityIfNonzero, "prio=always": PriorityAlways}[w]
			continue
		}
		switch {
		case i == 0:
			c.VLANMode = map[string]VLANMode{
				"tag": VLANAuto, "auto": VLANAuto, "access": VLANAccess, "trunk": VLANTrunk,
				"native-tagged": VLANNativeTagged, "native-untagged": VLANNativeUntagged,
			}[w]
		case i == 1 && c.VLANMode != VLANTrunk && !(c.VLANMode == VLANAuto && strings.HasPrefix(s, "auto")):
			c.Tag, _ = strconv.Atoi(w)
		default:
			for _, v := range strings.Split(w, ",") {
				n, _ := strconv.Atoi(v)
				c.Trunks = append(c.Trunks, n)
			}
		}
	}
	return c
}

// tagSpec makes a frame from "-" (no tag), "V" or "V/P" with VLAN and priority,
// "ad:V" with the 802.1ad type, or several of these from the outermost on.
func tagSpec(dst, src int, s string) []byte {
	var rest []byte
	if s != "-" {
		for _, w := range strings.Fields(s) {
			tpid := byte(0x81)
			typ := byte(0)
			if strings.HasPrefix(w, "ad:") {
				w, tpid, typ = w[3:], 0x88, 0xa8
			}
			v, p, _ := strings.Cut(w, "/")
			vid, _ := strconv.Atoi(v)
			pcp, _ := strconv.Atoi(p)
			rest = append(rest, tpid, typ, byte(pcp<<5|vid>>8), byte(vid))
		}
	}
	rest = append(rest, 0x08, 0x00)
	f := append(append(append([]byte{}, mac(dst)...), mac(src)...), rest...)
	for n := range 60 {
		f = append(f, byte(n))
	}
	return f
}

// What a frame looks like that came in at one port and leaves by another, by
// the text on vlan_mode, tag, trunks and priority-tags in
// ovs-vswitchd.conf.db(5). "drop" is at the way in, "none" if the output does
// not carry the VLAN.
var vlanCases = []struct{ in, frame, out, want string }{
	// Access to access.
	{"access 10", "-", "access 10", "-"},
	{"access 10", "-", "access 11", "none"},
	{"access 10", "10", "access 10", "drop"},
	{"access 10", "7", "access 10", "drop"},
	{"access 10", "ad:7", "access 10", "drop"},
	{"access 10", "0/5", "access 10", "-"}, // priority only: as good as no tag
	{"tag 10", "-", "tag 10", "-"},
	{"tag 0", "-", "trunk", "-"},
	// Access to trunk.
	{"access 10", "-", "trunk", "10"},
	{"access 10", "0/5", "trunk", "10/5"},
	{"access 10", "-", "trunk 10,20", "10"},
	{"access 10", "-", "trunk 20", "none"},
	{"access 10", "-", "native-tagged 10", "10"},
	{"access 10", "-", "native-untagged 10", "-"},
	{"access 10", "-", "native-untagged 11", "10"},
	{"access 10", "-", "native-untagged 11 12", "none"},
	{"access 4095", "-", "trunk", "4095"},
	// Trunk to trunk: as it came.
	{"trunk", "-", "trunk", "-"},
	{"trunk", "10/3", "trunk", "10/3"},
	{"trunk", "ad:10/3", "trunk", "ad:10/3"},
	{"trunk", "10 20", "trunk", "10 20"},
	{"trunk", "0/5", "trunk", "-"},
	{"trunk", "0/5", "trunk prio=if-nonzero", "0/5"},
	{"trunk", "0/0", "trunk prio=if-nonzero", "-"},
	{"trunk", "-", "trunk prio=always", "0"},
	{"trunk", "0 20", "trunk", "20"},
	{"trunk 10,20", "10", "trunk 20,10", "10"},
	{"trunk 10,20", "30", "trunk", "drop"},
	{"trunk 10,20", "-", "trunk", "drop"}, // VLAN 0 is not among them
	{"trunk 0,10", "-", "trunk", "-"},
	{"trunk 10", "10", "trunk 11", "none"},
	{"auto", "10", "auto", "10"},
	{"auto 10", "11", "auto", "drop"},
	// Trunk to access.
	{"trunk", "10", "access 10", "-"},
	{"trunk", "ad:10", "access 10", "-"},
	{"trunk", "10 20", "access 10", "20"},
	{"trunk", "11", "access 10", "none"},
	{"trunk", "-", "access 10", "none"},
	{"trunk", "-", "access 0", "-"},
	{"trunk", "10/5", "access 10 prio=if-nonzero", "0/5"},
	{"trunk", "10/0", "access 10 prio=if-nonzero", "-"},
	{"trunk", "10/5", "access 10 prio=always", "0/5"},
	// Native.
	{"native-tagged 5", "-", "trunk", "5"},
	{"native-tagged 5", "0/6", "trunk", "5/6"},
	{"native-tagged 5", "5", "trunk", "5"},
	{"native-tagged 5", "9", "trunk", "9"},
	{"native-tagged 5 9", "5", "trunk", "5"},
	{"native-tagged 5 9", "10", "trunk", "drop"},
	{"native-tagged 5 9", "-", "trunk", "5"},
	{"native-untagged 5", "-", "trunk", "5"},
	{"native-untagged 5", "5", "trunk", "5"},
	{"native-untagged 5", "9", "native-untagged 5", "9"},
	{"native-untagged 5", "-", "native-untagged 5", "-"},
	{"native-untagged 5", "-", "native-tagged 5", "5"},
	{"native-tagged 5", "5/2", "native-untagged 5", "-"},
	{"native-untagged 5", "-", "native-untagged 6", "5"},
	{"native-untagged 5", "-", "access 5", "-"},
	{"trunk", "-", "native-untagged 5", "none"}, // VLAN 0 is never carried beside a native one
	{"trunk", "-", "native-untagged 0", "-"},
	{"native-tagged", "-", "trunk", "-"},
	{"trunk", "5/3", "native-untagged 5 prio=if-nonzero", "0/3"},
}

func TestVLANModes(t *testing.T) {
	for _, c := range vlanCases {
		t.Run(fmt.Sprintf("%s|%s|%s", c.in, c.frame, c.out), func(t *testing.T) {
			d, b := newSwitch(t)
			in, d1 := plug(t, b, "in", portSpec(c.in))
			out, d2 := plug(t, b, "out", portSpec(c.out))
			want := func(dst int) []byte { return tagSpec(dst, 1, c.want) }
			check := func(how string, dst int) {
				t.Helper()
				settle(t, d1)
				got := d2.sent()
				if c.want == "none" || c.want == "drop" {
					if len(got) != 0 {
						t.Errorf("%s: got %x", how, got)
					}
				} else if len(got) != 1 || !bytes.Equal(got[0], want(dst)) {
					t.Errorf("%s: got %x, want %x", how, got, want(dst))
				}
			}
			d1.send(tagSpec(-1, 1, c.frame))
			check("flooded", -1)
			if dropped := in.Stats().RxDrops.Total(); (dropped != 0) != (c.want == "drop" || c.want == "none") {
				t.Errorf("%d dropped at the way in", dropped)
			}
			if c.want == "none" || c.want == "drop" {
				return
			}
			d.mu.Lock()
			vid := b.table.entries()[0].key >> vlanShift & 0xfff
			d.mu.Unlock()
			if err := b.AddStaticMAC(out, int(vid), mac(2)); err != nil {
				t.Fatal(err)
			}
			d1.send(tagSpec(2, 1, c.frame))
			check("to a known host", 2)
			d1.send(tagSpec(2, 1, c.frame))
			check("by the cache", 2)
		})
	}
}

// A flood makes one head for each way that the frame must look, not one for each
// port, and leaves what was received as it came.
func TestFloodHeads(t *testing.T) {
	_, b, th := bare(t)
	in := newFake(t, 1)
	plugDev(t, b, "in", portSpec("native-untagged 5"), in)
	var devs []*fake
	for i := range 40 {
		d := newFake(t, 1)
		devs = append(devs, d)
		plugDev(t, b, fmt.Sprint("p", i), portSpec([]string{"trunk", "access 5", "native-tagged 5", "access 6"}[i%4]), d)
	}
	in.send(tagSpec(-1, 1, "-"), tagSpec(-1, 1, "0/3"))
	th.iterate()
	heads := map[uint16]bool{}
	for i, d := range devs {
		for _, k := range d.index {
			heads[k] = true
		}
		want := [][]byte{tagSpec(-1, 1, "5"), tagSpec(-1, 1, "5/3")}
		switch i % 4 {
		case 1:
			want = [][]byte{tagSpec(-1, 1, "-"), tagSpec(-1, 1, "-")}
		case 3:
			want = nil
		}
		if got := d.sent(); len(got) != len(want) || len(got) == 2 && !(bytes.Equal(got[0], want[0]) && bytes.Equal(got[1], want[1])) {
			t.Errorf("port %d: %x", i, got)
		}
	}
	// The first frame as it came and with a tag, the second with its tag
	// changed and without.
	if len(heads) != 4 {
		t.Errorf("%d heads", len(heads))
	}
}

// Floods of many shapes keep each port's order.
func TestFloodOrder(t *testing.T) {
	_, b, th := bare(t)
	in := newFake(t, 1)
	plugDev(t, b, "in", portSpec("trunk"), in)
	var devs []*fake
	for i := range 3 {
		d := newFake(t, 1)
		devs = append(devs, d)
		plugDev(t, b, fmt.Sprint("p", i), portSpec([]string{"trunk", "trunk prio=always", "native-untagged 9"}[i]), d)
	}
	// 32 frames, each with a head for the second port and some for the third.
	for n := range 320 {
		in.send(tagSpec(-1, n+1, "-"), tagSpec(-1, n+1, "9/1"))
	}
	for range 20 {
		th.iterate()
	}
	for i, want := range []int{640, 640, 320} {
		got := devs[i].sent()
		if len(got) != want {
			t.Fatalf("port %d: %d of %d frames", i, len(got), want)
		}
		for n := range 320 {
			w := [][]byte{tagSpec(-1, n+1, "-"), tagSpec(-1, n+1, "9/1")}
			g := got[n*want/320:]
			switch i {
			case 1:
				w[0] = tagSpec(-1, n+1, "0")
			case 2:
				w = [][]byte{tagSpec(-1, n+1, "-")}
			}
			for k := range w {
				if !bytes.Equal(g[k], w[k]) {
					t.Fatalf("port %d, frame %d: %x, want %x", i, n, g[k], w[k])
				}
			}
		}
	}
}
