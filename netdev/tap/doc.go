// Package tap is the device types "tap" and "internal": a port whose other side is a
// network device of the host's own kernel, by a tap descriptor (tun/tap driver,
// Documentation/networking/tuntap.rst of the kernel).
//
// The device is made at Open and goes with Close, unless it was there before and is
// persistent, such as one that libvirt made: then it is used and left. An internal
// port is the bridge's own place in the host, under the bridge's name; it is down until
// the operator sets it up.
//
// Each frame costs a system call either way, so the queue is read only when the helper
// of package ready has seen something come. Frames carry a virtio net header of
// 12 bytes: packets of 64 KiB and unfinished checksums pass both ways.
//
// Poll threads touch the queues only; all else is done by the device's one
// goroutine, which makes the tap anew when somebody deletes it, and finds it when
// somebody moves it to another namespace.
package tap
