package flow

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// The getters are inlined: a decision reads a dozen of them.
func TestInlining(t *testing.T) {
	out, err := exec.Command("go", "build", "-gcflags=-m", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	inlined := map[string]bool{}
	for _, m := range regexp.MustCompile(`can inline (\S+)`).FindAllStringSubmatch(string(out), -1) {
		inlined[m[1]] = true
	}
	for name := range strings.FieldsSeq(`InPort RecircID EthDst EthSrc EthType VLAN InnerVLAN VID IPProto TOS TTL Frag
		Label IPv4Src IPv4Dst IPv6Src IPv6Dst TPSrc TPDst TCPFlags SHA THA NDTarget IGMPGroup NDReserved MPLS Base`) {
		if !inlined["(*Key)."+name] {
			t.Errorf("%s is not inlined", name)
		}
	}
	for _, name := range []string{"pull", "fold", "fragBits", "ports", "link"} {
		if !inlined[name] {
			t.Errorf("%s is not inlined", name)
		}
	}
}
