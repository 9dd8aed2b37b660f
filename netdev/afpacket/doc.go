// Package afpacket is the device type "system": a port on any kernel network
// device, in any network namespace, by a packet socket (packet(7)).
//
// Frames come through a memory-mapped ring (TPACKET_V2) of slots a little
// longer than the device's MTU, and their tails are lent straight from the ring. A frame
// that does not fit its slot, such as a 64 KiB packet that the other side has
// not segmented, follows by way of the socket's queue, whole, so no
// frame is ever cut, whatever becomes of the device's MTU and offload settings.
// Both ways a virtio net header goes before the frame and carries its checksum
// and segmentation state.
//
// The port outlives its device: when that vanishes or is renamed the port
// reports a fault, and it is bound again when a device of the name is there.
// Descriptors, queues and ring stay the same all the time.
//
// Poll threads touch Recv, Release, Arm, Disarm and Send only; all else is done by
// one goroutine of the device. They share the words of type gate.
package afpacket
