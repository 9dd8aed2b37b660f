package flow

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// corpus are the lines of testdata/matches.txt.
func corpus(t testing.TB) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/matches.txt")
	if err != nil {
		t.Fatal(err)
	}
	var l []string
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && line[0] != '#' {
			l = append(l, line)
		}
	}
	return l
}

// ovs is what Open vSwitch's own program makes of matches.
func ovs(t testing.TB, matches []string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "flows")
	if err := os.WriteFile(path, []byte(strings.Join(matches, ",actions=drop\n")+",actions=drop\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("ovs-ofctl", "-F", "nxm", "parse-flows", path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("ovs-ofctl (of package openvswitch-switch): %v\n%s", err, stderr.String())
	}
	header := regexp.MustCompile(`^NXT_FLOW_MOD \(xid=0x[0-9a-f]+\): ADD ?(.*?) ?actions=drop$`)
	var l []string
	for line := range strings.Lines(string(out)) {
		if !strings.Contains(line, "FLOW_MOD") {
			continue
		}
		m := header.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			t.Fatalf("ovs-ofctl says %s", line)
		}
		l = append(l, m[1])
	}
	if len(l) != len(matches) {
		t.Fatalf("%d matches, %d answers of ovs-ofctl\n%s\n%s", len(matches), len(l), out, stderr.String())
	}
	return l
}

// Matches are read and printed as Open vSwitch does, byte for byte.
func TestAgainstOVS(t *testing.T) {
	matches := corpus(t)
	for i, want := range ovs(t, matches) {
		var m Match
		if err := m.Parse(matches[i], nil); err != nil {
			t.Error(err)
		} else if got := m.String(); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", matches[i], got, want)
		}
	}
}

// So are random ones. Left out are fields that ovs-ofctl cannot send, and masks of IPv6 addresses that begin
// with a digit, which it takes for the length of a prefix.
func TestRandomAgainstOVS(t *testing.T) {
	prefixLike := regexp.MustCompile(`ipv6_[a-z]*=[0-9a-f:.]*/[0-9][0-9a-f]*:|nd_target=[0-9a-f:.]*/[0-9][0-9a-f]*:`)
	var matches []string
	for range 1000 {
		m := randomMatch(func(f *Field) bool { return f.Name != "tun_tos" && f.Name != "tun_ttl" && f.Name != "skb_priority" })
		if text := m.String(); !prefixLike.MatchString(text) {
			matches = append(matches, text)
		}
	}
	for i, want := range ovs(t, matches) {
		if matches[i] != want {
			t.Errorf("\ngot  %s\nwant %s", matches[i], want)
		}
	}
}

// A field's value is written in actions as Open vSwitch does.
func TestValuesAgainstOVS(t *testing.T) {
	set := regexp.MustCompile(`set_field:(.*)->`)
	for _, c := range [][3]string{ // match, field, value
		{"", "reg0", "0"},
		{"", "reg0", "0/7"},
		{"", "reg0", "0x50/0xf0"},
		{"", "metadata", "5"},
		{"", "tun_id", "0x123456789"},
		{"", "xxreg0", "0x50000000000000005"},
		{"", "xxreg0", "0/0xff"},
		{"", "tun_flags", "oam"},
		{"", "tun_flags", "0"},
		{"", "in_port", "LOCAL"},
		{"", "in_port", "7"},
		{"", "eth_src", "02:00:00:00:00:01"},
		{"", "eth_dst", "02:00:00:00:00:00/ff:00:00:00:00:00"},
		{"tcp", "tcp_src", "0/7"},
		{"tcp", "tcp_dst", "5/7"},
		{"udp", "udp_dst", "010"},
		{"dl_vlan=5", "vlan_vid", "0x1005"},
		{"dl_vlan=5", "vlan_vid", "0x1005/0x100f"},
		{"dl_vlan=5", "vlan_tci", "0x1005"},
		{"dl_vlan=5", "vlan_pcp", "5"},
		{"ip", "ip_src", "10.0.0.0/8"},
		{"ip", "ip_dst", "10.0.0.1"},
		{"ip", "nw_tos", "8"},
		{"ip", "ip_dscp", "1"},
		{"ip", "nw_ecn", "1"},
		{"ip", "nw_ttl", "64"},
		{"ipv6", "ipv6_src", "::1"},
		{"ipv6", "ipv6_src", "::/1"},
		{"ipv6", "ipv6_label", "5"},
		{"ipv6", "ipv6_label", "5/0xfff"},
		{"arp", "arp_op", "2"},
		{"arp", "arp_sha", "02:00:00:00:00:01"},
		{"mpls", "mpls_label", "5"},
	} {
		out, err := exec.Command("ovs-ofctl", "-O", "OpenFlow15", "parse-flow", c[0]+",actions=set_field:"+c[2]+"->"+c[1]).CombinedOutput()
		want := set.FindSubmatch(out)
		if err != nil || want == nil {
			t.Fatalf("ovs-ofctl: %v, %v\n%s", c, err, out)
		}
		f := FieldByName(c[1])
		v, mask, err := f.Parse(c[2], nil)
		if err != nil {
			t.Error(err)
		} else if got := f.Append(nil, v, mask, nil); !bytes.Equal(got, want[1]) {
			t.Errorf("%s: %s\ngot  %s\nwant %s", c[1], c[2], got, want[1])
		}
	}
}
