// Package hdr reads and writes protocol headers in place: a view is a pointer to
// an array of the header's fixed length, made by one checked conversion, and
// its accessors need no further bounds checks.
//
//	if h := hdr.IPv4At(head, off); h != nil { ttl := h.TTL() ... }
//
// An ...At function gives nil when the header does not fit into b at off. A
// view says nothing about whether the header is right; its Len methods may give
// more than the frame has.
//
// The package refuses to judge packets, to allocate and to know where bytes come
// from. Numbers are in host order, addresses that are 48 bits wide are MACs.
// Everything here is a pure function of its bytes.
package hdr
