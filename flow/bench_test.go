package flow

import (
	"testing"

	"github.com/gvswitch/gvswitch/packet"
)

func BenchmarkExtract(b *testing.B) {
	for name, text := range map[string]string{
		"tcp4":      examples[0],
		"tcp6-qinq": examples[3],
		"arp":       examples[4],
		"nd":        examples[5],
	} {
		b.Run("kind="+name, func(b *testing.B) {
			frame, err := ComposeLen(text, 1500)
			if err != nil {
				b.Fatal(err)
			}
			p, k := new(packet.Packet), new(Key)
			lend(p, frame, packet.HeadCopy, 4096)
			for b.Loop() {
				Extract(p, k)
			}
		})
	}
}

// The hot path: the key's words behind the base stay zero.
func BenchmarkExtractBase(b *testing.B) {
	for name, text := range map[string]string{
		"tcp4":      examples[0],
		"udp4":      examples[1],
		"tcp4-vlan": "tcp,dl_vlan=5,dl_vlan_pcp=0,nw_src=10.9.0.1,nw_dst=10.9.0.2,tp_src=1,tp_dst=2",
		"tcp6":      "tcp6,ipv6_src=fd00::1,ipv6_dst=fd00::2,tp_src=1,tp_dst=2",
		"icmp":      "icmp,nw_src=10.9.0.1,nw_dst=10.9.0.2,icmp_type=8,icmp_code=0",
		"arp":       examples[4],
	} {
		b.Run("kind="+name, func(b *testing.B) {
			frame, err := ComposeLen(text, 60)
			if err != nil {
				b.Fatal(err)
			}
			p, k := new(packet.Packet), new(Key)
			lend(p, frame, packet.HeadCopy, 4096)
			for b.Loop() {
				ExtractBase(p, k)
			}
		})
	}
}

func BenchmarkHash(b *testing.B) {
	k := Key{1, 2, 3, 4, 5, 6}
	var sink uint64
	for b.Loop() {
		sink += k.HashBase(sink)
	}
}
