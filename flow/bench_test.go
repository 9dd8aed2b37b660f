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

func BenchmarkHash(b *testing.B) {
	k := Key{1, 2, 3, 4, 5, 6}
	var sink uint64
	for b.Loop() {
		sink += k.HashBase(sink)
	}
}
