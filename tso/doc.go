// Package tso finishes in software what a packet's sender left to hardware:
// partial checksums (Complete) and segmentation (Segmenter), and checks that
// what the sender claims about them fits the frame (Sanity).
//
// Nothing that a sender claims is trusted: every offset is checked against the
// frame, the headers are walked rather than HdrLen believed, and the
// number of segments is bounded. Payload is never copied, except what lies in
// a packet's head anyway; segments share the lent tail of the packet that
// they were cut from, and so live no longer than its burst.
//
// The package refuses to know devices, flows and who needs what: the datapath
// compares a packet with its receiver's abilities and calls here. Its
// functions keep no state but in the Segmenter, belong to the calling poll
// thread, and allocate nothing.
package tso
