// Package vhostuser is the vhost-user protocol, back-end side: a codec for its
// messages, a connection that carries them and their file descriptors, guest
// memory as front ends hand it over, and Session, the protocol's state machine.
//
// A Session makes no system call, starts no goroutine and reads no clock: a
// message and what is known about its descriptors go in, a reply comes out, and
// everything that must happen meanwhile (start and stop rings, map memory, close a
// descriptor) is asked of a Device. So protocol tests are text files.
//
// The package refuses to know packets, ring layouts, ports and the switch.
//
// The front end is hostile: sizes are checked before anything is read or
// allocated, every descriptor has one owner at any time and is closed on
// every path, and what breaks the protocol ends this connection only.
//
// A Session, a Conn's reading side and a Memory belong to one goroutine at a time.
//
// Source: QEMU's docs/interop/vhost-user.rst.
package vhostuser
