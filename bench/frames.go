package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gvswitch/gvswitch/internal/checksum"
)

// frames writes the frames of one side to a file for the generator, and returns
// its path. Side 1 sends the answers to side 0's flows: addresses and ports
// swapped.
func (b *bench) frames(t traffic, side int) (string, error) {
	path := filepath.Join(b.dir, fmt.Sprintf("frames-%s-%d-%d-%d", t.size, t.flows, t.macs, side))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	sizes := []int{64, 64, 64, 64, 64, 64, 64, 594, 594, 594, 594, 1518}
	if t.size != "imix" {
		n, err := strconv.Atoi(t.size)
		if err != nil {
			return "", fmt.Errorf("frame size %q: %w", t.size, err)
		}
		sizes = []int{n}
	}
	rng := rand.New(rand.NewPCG(uint64(side), 1))
	order := make([]int, max(t.flows, 4096))
	for i := range order {
		order[i] = i % t.flows
	}
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	var out []byte
	for i, flow := range order {
		f := udp(flow, t.macs, side, sizes[i%len(sizes)])
		out = binary.NativeEndian.AppendUint32(out, uint32(len(f)))
		out = append(out, f...)
	}
	return path, os.WriteFile(path, out, 0o600)
}

// udp is an IPv4/UDP frame of the flow, n bytes long.
func udp(flow, macs, side, n int) []byte {
	near := [6]byte{2, 0, 0, 1, byte(flow % macs >> 8), byte(flow % macs)}
	far := [6]byte{2, 0, 0, 2, byte(flow % macs >> 8), byte(flow % macs)}
	src, dst := [4]byte{10, 1, byte(flow / 250), byte(flow%250 + 1)}, [4]byte{10, 2, byte(flow / 250), byte(flow%250 + 1)}
	sport, dport := uint16(1024+flow%50000), uint16(5001)
	if side == 1 {
		near, far, src, dst, sport, dport = far, near, dst, src, dport, sport
	}
	be := binary.BigEndian
	f := make([]byte, n)
	copy(f, far[:])
	copy(f[6:], near[:])
	be.PutUint16(f[12:], 0x0800)
	ip := f[14:]
	ip[0], ip[8], ip[9] = 0x45, 64, 17
	be.PutUint16(ip[2:], uint16(n-14))
	copy(ip[12:], src[:])
	copy(ip[16:], dst[:])
	be.PutUint16(ip[10:], ^checksum.Sum(ip[:20], 0))
	be.PutUint16(ip[20:], sport)
	be.PutUint16(ip[22:], dport)
	be.PutUint16(ip[24:], uint16(n-34))
	return f
}
