// Package xlate translates what a bridge's flow tables say about a packet into a flat list of
// datapath actions, together with the bits of the packet that the answer depends on and, if
// it is asked for, an account of how it came about.
//
// It knows keys, not packets: what a port, a MAC table or a link is, a Bridge says. The one
// promise that all caches above rest on: every packet that agrees with the key in the
// bits of Result.Mask is translated to the same list, as long as tables, ports and MAC table are
// as they were.
//
// An Xlate belongs to one thread. Run allocates nothing unless it traces or learns, waits
// for nobody, and is bounded: in depth, in table lookups, and in the length of the list.
//
// Sources: ovs-actions(7), OpenFlow 1.5.1 sections 5.1 to 5.10, ofproto/trace in
// ovs-vswitchd(8).
package xlate
