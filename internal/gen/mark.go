package gen

import (
	"encoding/binary"
	"math/bits"
)

// Each frame is marked at the beginning of its payload:
//
//	 0  check     16 bits: of the mark's other fields and the length of the payload
//	 2  source     8 bits: sending port, trial and queue
//	 3  flow      24 bits: number of the flow
//	 6  time      32 bits: when it was sent, in ticks of the Clock
//	10  sequence  32 bits: of the source's frames, from 1 on; TCP has it in its header's sequence number instead
//
// all in network order. That is 14 bytes, with TCP 10: 64 bytes (without CRC) have room for TCP over IPv4, and for UDP over IPv4 even
// behind two VLAN tags; 60 bytes for UDP behind one.
//
// What follows the mark is a pattern that is known to both sides (pattern.go), so that the contents are compared and not summed: no change
// goes unnoticed. A mark that was changed is taken for a good one once in 65536 times.
//
// Sequence numbers are the source's and not each flow's, so that sending needs no memory for each flow, and loss and duplication are found
// by one window for each source. Order is defined within a flow, where the receiver keeps the last number.
const (
	markCheck  = 0
	markSource = 2
	markTime   = 6
	markSeq    = 10

	udpMark = 14
	tcpMark = 10

	tcpSeq = 4 // in the TCP header
)

// mark is a mark's fields but for the check.
type mark struct {
	source uint32 // source and flow, as one word
	time   uint32
	seq    uint32
}

// markLen is the bytes of a mark.
func markLen(tcp bool) int {
	if tcp {
		return tcpMark
	}
	return udpMark
}

// check is the check of m in a payload of n bytes: the two halves of a product, so that each bit of the fields is felt in each of the result.
func (m *mark) check(n uint32) uint16 {
	const k1, k2 = 0x9e3779b97f4a7c15, 0xd6e8feb86659fd93
	hi, lo := bits.Mul64((uint64(m.source)<<32|uint64(m.time))^k1, (uint64(m.seq)<<32|uint64(n))^k2)
	x := hi ^ lo
	x ^= x >> 32
	return uint16(x ^ x>>16)
}

// get reads a mark and its check from a payload; seq is where the sequence number is.
func (m *mark) get(payload, seq []byte) (check uint16) {
	m.source = binary.BigEndian.Uint32(payload[markSource:])
	m.time = binary.BigEndian.Uint32(payload[markTime:])
	m.seq = binary.BigEndian.Uint32(seq)
	return binary.BigEndian.Uint16(payload[markCheck:])
}

// The parts of a mark's source.
const (
	maxPorts  = 2
	maxQueues = 16
	trials    = 8 // numbers go round: enough to tell what is late from an earlier trial

	queueShift = 24
	trialShift = 28
	portShift  = 31
	flowMask   = MaxFlows - 1
)

func sourceOf(port, trial, queue int) uint32 {
	return uint32(port)<<portShift | uint32(trial%trials)<<trialShift | uint32(queue)<<queueShift
}

func (m *mark) port() int    { return int(m.source >> portShift) }
func (m *mark) trial() int   { return int(m.source>>trialShift) % trials }
func (m *mark) queue() int   { return int(m.source>>queueShift) % maxQueues }
func (m *mark) flow() uint32 { return m.source & flowMask }
