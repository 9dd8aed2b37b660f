package virtio

import (
	"encoding/hex"
	"reflect"
	"strings"
	"testing"
)

const ctrlFeatures = NetFCtrlVQ | NetFCtrlRx | NetFCtrlRxExtra | NetFCtrlVLAN | NetFCtrlMACAddr | NetFGuestOffloads |
	NetFGuestAnnounce | NetFMQ | NetFGuestCsum | NetFGuestTSO4 | NetFGuestTSO6 | NetFMAC

var ownMAC = [6]byte{2, 0, 0, 0, 0, 1}

func command(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Each command with each thing that can be wrong with it, and the feature that it needs.
func TestControlCommands(t *testing.T) {
	for _, c := range []struct {
		name string
		cmd  string
		need uint64 // without this feature it is refused; 0: it is refused anyway
		want func(*Control)
		what Change
	}{
		{"promiscuous", "00 00 01", NetFCtrlRx, func(c *Control) { c.Want.Promisc, c.Want.ByAddr = true, true }, ChangedFilter},
		{"promiscuous no more", "00 00 00", NetFCtrlRx, func(c *Control) { c.Want.ByAddr = true }, ChangedFilter},
		{"all multicast", "00 01 01", NetFCtrlRx, func(c *Control) { c.Want.AllMulti, c.Want.ByAddr = true, true }, ChangedFilter},
		{"all unicast", "00 02 01", NetFCtrlRxExtra, func(c *Control) { c.Want.AllUni, c.Want.ByAddr = true, true }, ChangedFilter},
		{"no multicast", "00 03 01", NetFCtrlRxExtra, func(c *Control) { c.Want.NoMulti, c.Want.ByAddr = true, true }, ChangedFilter},
		{"no unicast", "00 04 01", NetFCtrlRxExtra, func(c *Control) { c.Want.NoUni, c.Want.ByAddr = true, true }, ChangedFilter},
		{"no broadcast", "00 05 01", NetFCtrlRxExtra, func(c *Control) { c.Want.NoBcast, c.Want.ByAddr = true, true }, ChangedFilter},
		{"unknown mode", "00 06 01", 0, nil, 0},
		{"neither on nor off", "00 00 02", 0, nil, 0},
		{"no data", "00 00", 0, nil, 0},
		{"too much data", "00 00 01 00", 0, nil, 0},
		{"own address", "01 01 020000000009", NetFCtrlMACAddr, func(c *Control) { c.Want.Own = 0x090000000002 }, ChangedFilter | ChangedMAC},
		{"own address is multicast", "01 01 030000000009", 0, nil, 0},
		{"own address is short", "01 01 0200000000", 0, nil, 0},
		{"empty tables", "01 00 00000000 00000000", NetFCtrlRx, func(c *Control) { c.Want.ByAddr = true }, ChangedFilter},
		{"tables", "01 00 01000000 020000000005 02000000 333300000001 01005e000001", NetFCtrlRx, func(c *Control) {
			c.Want.ByAddr, c.Want.MACs = true, []uint64{0x050000000002, 0x010000003333, 0x0100005e0001}
		}, ChangedFilter},
		{"one table", "01 00 00000000", 0, nil, 0},
		{"table longer than the command", "01 00 02000000 020000000005 00000000", 0, nil, 0},
		{"table of 2^32-1", "01 00 ffffffff 00000000", 0, nil, 0},
		{"data behind the tables", "01 00 00000000 00000000 00", 0, nil, 0},
		{"VLAN", "02 00 0a00", NetFCtrlVLAN, func(c *Control) { c.Want.ByVLAN, c.Want.VLANs[0] = true, 1<<10 }, ChangedFilter},
		{"last VLAN", "02 00 ff0f", NetFCtrlVLAN, func(c *Control) { c.Want.ByVLAN, c.Want.VLANs[63] = true, 1<<63 }, ChangedFilter},
		{"VLAN taken away", "02 01 0a00", NetFCtrlVLAN, func(c *Control) { c.Want.ByVLAN = true }, ChangedFilter},
		{"VLAN 4096", "02 00 0010", 0, nil, 0},
		{"unknown of VLANs", "02 02 0100", 0, nil, 0},
		{"announced", "03 00", NetFGuestAnnounce, func(*Control) {}, Announced},
		{"two pairs", "04 00 0200", NetFMQ, func(c *Control) { c.Pairs = 2 }, ChangedPairs},
		{"no pairs", "04 00 0000", 0, nil, 0},
		{"more pairs than there are", "04 00 0500", 0, nil, 0},
		{"RSS", "04 01 0200", 0, nil, 0},
		{"no offloads", "05 00 0000000000000000", NetFGuestOffloads, func(c *Control) { c.Offloads = 0 }, ChangedOffloads},
		{"checksums only", "05 00 0200000000000000", NetFGuestOffloads, func(c *Control) { c.Offloads = NetFGuestCsum }, ChangedOffloads},
		{"offloads that were not negotiated", "05 00 0204000000000000", 0, nil, 0},
		{"offload bits of the other direction", "05 00 0100000000000000", 0, nil, 0},
		{"unknown class", "06 00 00", 0, nil, 0},
		{"half a header", "00", 0, nil, 0},
		{"nothing", "", 0, nil, 0},
	} {
		start := NewControl(ctrlFeatures, 4, ownMAC)
		want, ok := start, c.want != nil
		if ok {
			c.want(&want)
		}
		next, what, got := start.Do(command(t, c.cmd))
		if got != ok || what != c.what || !reflect.DeepEqual(next, want) {
			t.Errorf("%s: %v, change %b; got %+v, want %+v", c.name, got, what, next, want)
		}
		if ok {
			without := NewControl(ctrlFeatures&^c.need, 4, ownMAC)
			if next, _, ok := without.Do(command(t, c.cmd)); ok || !reflect.DeepEqual(next, without) {
				t.Errorf("%s: obeyed without the feature %v", c.name, FeatureNames(c.need))
			}
		}
	}
}

// Which frames are wanted after some commands.
func TestRxFilter(t *testing.T) {
	const (
		own    = "020000000001 020000000099 0800"
		other  = "020000000002 020000000099 0800"
		listed = "020000000005 020000000099 0800"
		bcast  = "ffffffffffff 020000000099 0806"
		multi  = "333300000001 020000000099 86dd"
		multi2 = "333300000002 020000000099 86dd"
		vlan10 = "ffffffffffff 020000000099 8100 000a 0806"
		vlan11 = "ffffffffffff 020000000099 8100 600b 0806"
		prio   = "ffffffffffff 020000000099 8100 e000 0806"
		short  = "ffffffffffff 020000000099 8100"
	)
	all := []string{own, other, listed, bcast, multi, multi2, vlan10, vlan11, prio, short}
	const linux = "00 00 00,00 01 00,01 00 01000000 020000000005 01000000 333300000001"
	for _, c := range []struct {
		name, commands string
		refused        []string
	}{
		{"nothing said", "", nil},
		{"as Linux begins", linux, []string{other, multi2}},
		{"promiscuous", linux + ",02 00 0a00,00 00 01", nil},
		{"promiscuous and back", linux + ",00 00 01,00 00 00", []string{other, multi2}},
		{"all multicast", linux + ",00 01 01", []string{other}},
		{"all unicast", linux + ",00 02 01", []string{multi2}},
		{"no multicast", linux + ",00 01 01,00 03 01", []string{other, multi, multi2}},
		{"no unicast", linux + ",00 04 01", []string{own, other, listed, multi2}},
		{"no broadcast", linux + ",00 05 01", []string{other, bcast, multi2, vlan10, vlan11, prio, short}},
		{"another address", linux + ",01 01 020000000002", []string{own, multi2}},
		{"a VLAN only", "02 00 0a00", []string{vlan11}},
		{"a VLAN that went", "02 00 0a00,02 01 0a00", []string{vlan10, vlan11}},
		{"a VLAN and addresses", linux + ",02 00 0b00", []string{other, multi2, vlan10}},
		{"more addresses than fit", "00 00 00,01 00 41000000" + strings.Repeat("020000000005", 65) + "00000000", []string{multi, multi2}},
		{"as many as fit", "00 00 00,01 00 40000000" + strings.Repeat("020000000005", 64) + "00000000", []string{other, multi, multi2}},
		{"more multicast addresses than fit", "00 00 00,01 00 00000000 41000000" + strings.Repeat("333300000009", 65), []string{other, listed}},
	} {
		s := NewControl(ctrlFeatures, 4, ownMAC)
		for cmd := range strings.SplitSeq(c.commands, ",") {
			var ok bool
			if s, _, ok = s.Do(command(t, cmd)); !ok && cmd != "" {
				t.Errorf("%s: %s refused", c.name, cmd)
			}
		}
		var refused []string
		for _, f := range all {
			if !s.Want.Wants(command(t, f)) {
				refused = append(refused, f)
			}
		}
		if !reflect.DeepEqual(refused, c.refused) {
			t.Errorf("%s: refused %q, want %q", c.name, refused, c.refused)
		}
		if s.Want.All() && refused != nil {
			t.Errorf("%s: All, but refused %q", c.name, refused)
		}
	}
}

// A driver whose address nobody knows gets all that may be its own.
func TestRxFilterUnknownAddress(t *testing.T) {
	s, _, _ := NewControl(ctrlFeatures, 1, [6]byte{}).Do(command(t, "00 00 00"))
	if f := command(t, "020000000002 020000000099 0800"); !s.Want.Wants(f) {
		t.Error("a unicast frame is refused")
	}
	if f := command(t, "333300000001 020000000099 86dd"); s.Want.Wants(f) {
		t.Error("a multicast frame is wanted")
	}
	if _, ok := s.Want.OwnMAC(); ok {
		t.Error("the address is known")
	}
}

func TestWantsAllocatesNothing(t *testing.T) {
	s, _, _ := NewControl(ctrlFeatures, 1, ownMAC).Do(command(t, "00 00 00"))
	f := command(t, "020000000002 020000000099 8100 000a 0800")
	if n := testing.AllocsPerRun(100, func() { s.Want.Wants(f) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Whatever comes, the state stays within bounds, and a refused command changes nothing.
func FuzzControl(f *testing.F) {
	for _, s := range []string{"00 00 01", "01 00 00000000 00000000", "01 01 020000000009", "02 00 0a00", "03 00", "04 00 0200", "05 00 0200000000000000"} {
		f.Add(ctrlFeatures, command(f, s), command(f, s))
	}
	f.Fuzz(func(t *testing.T, features uint64, a, b []byte) {
		s := NewControl(features, 4, ownMAC)
		for _, cmd := range [][]byte{a, b} {
			before := s
			next, what, ok := s.Do(cmd)
			if !ok && (what != 0 || !reflect.DeepEqual(next, before)) {
				t.Fatal("refused, and yet something changed")
			}
			s = next
			if s.Pairs < 1 || s.Pairs > 4 || s.Offloads&^(features&GuestOffloads) != 0 || len(s.Want.MACs) > 2*maxMACs || s.Want.Own&1 != 0 || s.Want.Own > macMask {
				t.Fatalf("out of bounds: %+v", s)
			}
			if len(a) >= 14 {
				s.Want.Wants(a)
			}
		}
	})
}
