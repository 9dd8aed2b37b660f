package main

import (
	"encoding/binary"
	"errors"
	"io"
	"net"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/virtio"
)

// umlCannot is what User Mode Linux must not be offered: a control queue and what
// needs one, and packed rings.
const umlCannot = virtio.NetFCtrlVQ | virtio.NetFCtrlRx | virtio.NetFCtrlVLAN | virtio.NetFGuestAnnounce |
	virtio.NetFMQ | virtio.NetFCtrlMACAddr | virtio.NetFMTU | virtio.FRingPacked

// maskFeatures joins a vhost-user front end and a back end, which both connect to
// it, and clears umlCannot from what the back end offers.
func maskFeatures(front, back string) (stop func(), err error) {
	f, err := net.ListenUnix("unix", &net.UnixAddr{Name: front, Net: "unix"})
	if err != nil {
		return nil, err
	}
	b, err := net.ListenUnix("unix", &net.UnixAddr{Name: back, Net: "unix"})
	if err != nil {
		f.Close()
		return nil, err
	}
	go func() {
		bc, err := b.AcceptUnix()
		if err != nil {
			return
		}
		defer bc.Close()
		fc, err := f.AcceptUnix()
		if err != nil {
			return
		}
		defer fc.Close()
		go func() {
			_ = relay(bc, fc, 0)
			_ = bc.CloseRead()
		}()
		_ = relay(fc, bc, umlCannot)
	}()
	return func() { f.Close(); b.Close() }, nil
}

// relay passes messages and their descriptors on until the source ends. The answer to
// GET_FEATURES loses the bits of hide.
func relay(dst, src *net.UnixConn, hide uint64) error {
	const getFeatures = 1
	for {
		head := make([]byte, 12)
		oob := make([]byte, unix.CmsgSpace(8*4))
		n, on, _, _, err := src.ReadMsgUnix(head, oob)
		if err != nil || n == 0 {
			return errors.Join(err, io.EOF)
		}
		if _, err := io.ReadFull(src, head[n:]); err != nil {
			return err
		}
		le := binary.LittleEndian
		msg := append(head, make([]byte, le.Uint32(head[8:]))...)
		if _, err := io.ReadFull(src, msg[12:]); err != nil {
			return err
		}
		if hide != 0 && le.Uint32(msg) == getFeatures && len(msg) == 20 {
			le.PutUint64(msg[12:], le.Uint64(msg[12:])&^hide)
		}
		_, _, err = dst.WriteMsgUnix(msg, oob[:on], nil)
		closeRights(oob[:on])
		if err != nil {
			return err
		}
	}
}

func closeRights(oob []byte) {
	msgs, _ := unix.ParseSocketControlMessage(oob)
	for i := range msgs {
		fds, _ := unix.ParseUnixRights(&msgs[i])
		for _, fd := range fds {
			unix.Close(fd)
		}
	}
}
