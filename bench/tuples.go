package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/gvswitch/gvswitch/internal/checksum"
)

// tuple is what tells a transport flow from another.
type tuple struct {
	src, dst     uint32
	sport, dport uint16
	proto        byte
}

// flowset is named transport flows, those that each side sends. Both may be the same.
type flowset struct {
	name  string
	sides [2][]tuple
}

// write makes the generator's file of one side: a frame of n bytes, and the flows in a random order.
func (s *flowset) write(dir, size string, side int) (string, error) {
	path := filepath.Join(dir, fmt.Sprintf("tuples-%s-%s-%d", s.name, size, side))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	var n int
	if _, err := fmt.Sscan(size, &n); err != nil || n < 60 {
		return "", fmt.Errorf("frame size %q: flows by tuple need a number of at least 60", size)
	}
	f := udp(0, 1, side, n)
	f[46] = 0x50 // were it TCP: a header of five words
	ip := f[14:34]
	of := s.sides[side]
	out := make([]byte, 0, 4+n+16*len(of))
	out = binary.NativeEndian.AppendUint32(out, uint32(n))
	out = append(out, f...)
	rng := rand.New(rand.NewPCG(uint64(side), 2))
	be := binary.BigEndian
	for _, i := range rng.Perm(len(of)) {
		t := of[i]
		ip[9], ip[10], ip[11] = t.proto, 0, 0
		be.PutUint32(ip[12:], t.src)
		be.PutUint32(ip[16:], t.dst)
		out = append(out, ip[12:20]...)
		out = be.AppendUint16(out, t.sport)
		out = be.AppendUint16(out, t.dport)
		out = be.AppendUint16(out, ^checksum.Sum(ip, 0))
		out = append(out, t.proto, 0)
	}
	return path, os.WriteFile(path, out, 0o600)
}

// spread is n flows, half of them on each side, no two with the same source address, their destinations in the 128 networks
// 10.128.0.0/16 and following.
func spread(n int) *flowset {
	s := &flowset{name: fmt.Sprint("spread", n)}
	for i := range n {
		t := tuple{src: 10<<24 | uint32(i), dst: 10<<24 | 128<<16 | uint32(i)*2654435761>>9, sport: uint16(1024 + i*7%60000), dport: 443, proto: 17}
		s.sides[i%2] = append(s.sides[i%2], t)
	}
	return s
}

// strangers are flows from and to the networks of an acl that know nothing of its rules: few meet one.
func strangers(n int) *flowset {
	s := &flowset{name: fmt.Sprint("strangers", n)}
	rng := rand.New(rand.NewPCG(uint64(n), 3))
	for range n {
		s.sides[0] = append(s.sides[0], someTuple(rng))
	}
	s.sides[1] = s.sides[0]
	return s
}
