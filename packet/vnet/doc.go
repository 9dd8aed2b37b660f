// Package vnet converts between the virtio net header, as guests, taps and
// packet sockets put it before a frame, and a packet's offload state.
//
// What comes in is not trusted: a header that does not fit its frame is refused
// here, once, so that everything behind may rely on the state. The package
// refuses to know rings, devices and features; which offloads a peer may use is
// for the caller to have agreed with it. Its functions are pure and allocate
// nothing.
package vnet
