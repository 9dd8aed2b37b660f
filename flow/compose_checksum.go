package flow

import (
	"hash/crc32"

	"github.com/gvswitch/gvswitch/internal/checksum"
	"github.com/gvswitch/gvswitch/internal/hdr"
)

// finish writes the checksum into l4, L4 header and payload. pseudo is the sum of
// the pseudo header. A fragment's checksum covers bytes that are not there, so
// it stays 0.
func (k *Key) finish(c *kind, l4 []byte, pseudo uint16) {
	if k.Frag() != 0 {
		return
	}
	switch {
	case c.tcp:
		hdr.TCPAt(l4, 0).SetChecksum(^checksum.Sum(l4, pseudo))
	case c.udp:
		sum := ^checksum.Sum(l4, pseudo)
		if sum == 0 {
			sum = 0xffff // RFC 768: 0 means none
		}
		hdr.UDPAt(l4, 0).SetChecksum(sum)
	case c.icmp, c.igmp:
		hdr.ICMPAt(l4, 0).SetChecksum(^checksum.Sum(l4, 0))
	case c.icmpv6:
		hdr.ICMPv6At(l4, 0).SetChecksum(^checksum.Sum(l4, pseudo))
	case c.sctp:
		hdr.SCTPAt(l4, 0).SetChecksum(crc32.Checksum(l4, crc32.MakeTable(crc32.Castagnoli)))
	}
}
