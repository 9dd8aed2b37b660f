// Package packet is the packet as the switch holds it: a private head and a
// lent tail, and the burst that carries packets through the datapath.
//
// The first bytes of a frame are copied into the packet's own buffer when it is
// received. All parsing and editing happens there, so a guest that rewrites its
// buffer later changes nothing that was decided. The rest, the tail, stays
// where it is as a list of segments that are lent: they belong to the queue the
// packet came from and are valid until that queue's Release, at the end of
// the burst. Nothing keeps a tail longer; whoever must keep a packet makes a
// copy of its bytes (AppendTo).
//
//	buf   |  headroom, Headroom bytes  |  head, up to HeadCap bytes   |
//	                             Off ->|<------- HeadLen ------>|
//	segs                                  | seg 0 | seg 1 | ...           lent
//	frame                              |<---------------- Len -------...->|
//
// The package refuses to know devices, flows and protocols beyond where the
// virtio net header says that a checksum and a segment size are.
//
// A packet belongs to one poll thread; nothing here may be shared.
package packet
