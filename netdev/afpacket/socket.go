package afpacket

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Memory for the socket's queues, in bytes. Frames too long for a slot wait in the
// receive queue: 16 MB is some 150 of 64 KiB. The send queue holds what the
// device has taken and not yet sent.
const (
	receiveQueue = 16 << 20
	sendQueue    = 4 << 20
)

// newSocket makes the port's socket, bound to nothing yet. It is called in the
// device's namespace.
func newSocket() (int, error) {
	// Protocol 0: nothing is received before bind.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		if errors.Is(err, unix.EPERM) {
			return -1, fmt.Errorf("packet socket: %w (CAP_NET_RAW is needed)", err)
		}
		return -1, fmt.Errorf("packet socket: %w", err)
	}
	for _, o := range []struct {
		name         string
		level, which int
		value        int
	}{
		{"PACKET_VERSION", unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V2},
		{"PACKET_VNET_HDR", unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1},
		{"PACKET_IGNORE_OUTGOING", unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1},
		{"PACKET_COPY_THRESH", unix.SOL_PACKET, unix.PACKET_COPY_THRESH, 1},
	} {
		if err := unix.SetsockoptInt(fd, o.level, o.which, o.value); err != nil {
			_ = unix.Close(fd)
			return -1, fmt.Errorf("packet socket: %s: %w", o.name, err)
		}
	}
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveQueue) != nil {
		// Without CAP_NET_ADMIN the system's limit holds; long frames may then be
		// lost sooner, and are counted.
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveQueue)
	}
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, sendQueue) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, sendQueue)
	}
	return fd, nil
}

// htons is v in network order: the platforms are little endian.
func htons(v uint16) uint16 { return v<<8 | v>>8 }

// bind makes the socket receive all frames of the device.
func bind(fd, ifindex int) error {
	return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: htons(unix.ETH_P_ALL), Ifindex: ifindex})
}

// promiscuous adds or ends the socket's wish that the device pass frames for any
// address. The wish ends with the socket or the device, too.
func promiscuous(fd, ifindex int, on bool) error {
	which := unix.PACKET_DROP_MEMBERSHIP
	if on {
		which = unix.PACKET_ADD_MEMBERSHIP
	}
	return unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, which,
		&unix.PacketMreq{Ifindex: int32(ifindex), Type: unix.PACKET_MR_PROMISC})
}

// deafen makes the socket drop all that its device receives, until hear. A socket
// cannot be unbound from a device without being bound to another.
func deafen(fd int) error {
	none := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: 0}}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(none)), Filter: &none[0]})
}

// hear ends deafen.
func hear(fd int) {
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0) // ENOENT: it was not deaf
}

// missed is how many frames the kernel had no room for since it was last asked.
func missed(fd int) uint64 {
	st, err := unix.GetsockoptTpacketStats(fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return 0
	}
	return uint64(st.Drops)
}
