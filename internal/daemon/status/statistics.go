package status

import (
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/packet"
)

// Statistics is Interface.statistics: Open vSwitch's names, and the losses by reason as rx_drop_REASON and tx_drop_REASON where there are
// any. What guests' buffers were lent is dq_zc_packets and dq_zc_bytes (docs/zero-copy.md). missed is how many frames the device's kernel side had no room for.
func Statistics(s *datapath.PortStats, missed uint64) ovsdb.Datum {
	rxErrors := sum(&s.RxDrops, rxErrorReasons)
	txErrors := sum(&s.TxDrops, txErrorReasons)
	pairs := []ovsdb.Pair{
		count("rx_packets", s.RxPackets), count("rx_bytes", s.RxBytes),
		count("tx_packets", s.TxPackets), count("tx_bytes", s.TxBytes),
		count("rx_dropped", s.RxDrops.Total()-rxErrors-s.RxDrops[packet.LACP]), count("tx_dropped", s.TxDrops.Total()-txErrors-s.TxDrops[packet.TxFiltered]),
		count("rx_errors", rxErrors), count("tx_errors", txErrors),
		count("rx_frame_err", 0), count("rx_over_err", s.RxDrops[packet.RxTooLong]), count("rx_crc_err", 0),
		count("rx_missed_errors", missed), count("collisions", 0),
		count("tx_retries", s.TxRetries),
	}
	if s.RxLent != 0 {
		pairs = append(pairs, count("dq_zc_packets", s.RxLent), count("dq_zc_bytes", s.RxLentLen))
	}
	for reason := packet.DropNone + 1; reason < packet.NumDropReasons; reason++ {
		name := DropName(reason)
		if n := s.RxDrops[reason]; n != 0 {
			pairs = append(pairs, count("rx_drop_"+name, n))
		}
		if n := s.TxDrops[reason]; n != 0 {
			pairs = append(pairs, count("tx_drop_"+name, n))
		}
	}
	return ovsdb.NewMap(pairs...)
}

// MirrorStatistics is Mirror.statistics.
func MirrorStatistics(s datapath.MirrorStats) ovsdb.Datum {
	return ovsdb.NewMap(count("tx_packets", s.Packets), count("tx_bytes", s.Bytes))
}

// DropName is a reason without the direction, which the counter says.
func DropName(r packet.DropReason) string {
	return strings.TrimPrefix(strings.TrimPrefix(r.String(), "rx_"), "tx_")
}

func count(name string, n uint64) ovsdb.Pair {
	return ovsdb.Pair{Key: ovsdb.Str(name), Value: ovsdb.Int(int64(n))}
}

// What counts as an error rather than as a loss that can be expected of a switch.
var (
	rxErrorReasons = []packet.DropReason{
		packet.RxBadChain, packet.RxBadAddress, packet.RxRunt, packet.RxTooLong, packet.RxTruncated, packet.RxBadOffload, packet.RxError, packet.PortFault,
	}
	txErrorReasons = []packet.DropReason{packet.TxBadChain, packet.TxBadAddress, packet.TxError, packet.TxNeedsOffload, packet.PortFault}
)

func sum(d *datapath.Drops, reasons []packet.DropReason) uint64 {
	var n uint64
	for _, r := range reasons {
		n += d[r]
	}
	return n
}

// Errors returns the parts of the losses that count as errors.
func Errors(s *datapath.PortStats) (rx, tx uint64) {
	return sum(&s.RxDrops, rxErrorReasons), sum(&s.TxDrops, txErrorReasons)
}
