// Package pcapng writes captures in the format pcapng (draft-ietf-opsawg-pcapng): one section with one Ethernet interface, whose
// packets have nanosecond times, a direction and, if there is one, a comment; at the end how many there were and how many the
// capture missed.
//
// It is a package of its own, of few lines, since the library at hand makes several allocations for a packet's comment and
// brings decoders for some hundred protocols into the daemon. It refuses to know where packets come from.
//
// A Writer belongs to one goroutine.
package pcapng
