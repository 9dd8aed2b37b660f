package pager

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// What is said between the two: fixed messages over a SOCK_SEQPACKET pair, answered with the same
// operation.
const (
	opFault    = iota + 1 // make the userfaultfd; the answer carries it
	opMap                 // map a = offset, b = size of the file that comes along; answer: a = address
	opRegister            // let all that is mapped fault from now on
	opTouch               // touch address b; answer when it is there: a
)

const messageSize = 32

type message struct {
	op    uint64
	a, b  uint64
	errno uint64 // of an answer
}

func (m message) bytes() []byte {
	b := make([]byte, 0, messageSize)
	for _, v := range []uint64{m.op, m.a, m.b, m.errno} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

func (m message) err() error {
	if m.errno == 0 {
		return nil
	}
	return unix.Errno(m.errno)
}

func send(sock int, m message, fds ...int) error {
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	return unix.Sendmsg(sock, m.bytes(), oob, nil, unix.MSG_NOSIGNAL)
}

// receive waits for a message; fd is -1 if none came with it.
func receive(sock int) (m message, fd int, err error) {
	var b [messageSize]byte
	oob := make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := unix.Recvmsg(sock, b[:], oob, unix.MSG_CMSG_CLOEXEC)
	for errors.Is(err, unix.EINTR) {
		n, oobn, _, _, err = unix.Recvmsg(sock, b[:], oob, unix.MSG_CMSG_CLOEXEC)
	}
	fd = -1
	if oobn > 0 {
		if list, perr := unix.ParseSocketControlMessage(oob[:oobn]); perr == nil && len(list) > 0 {
			if fds, rerr := unix.ParseUnixRights(&list[0]); rerr == nil && len(fds) > 0 {
				fd = fds[0]
			}
		}
	}
	switch {
	case err != nil:
		return m, fd, err
	case n == 0:
		return m, fd, errors.New("closed")
	case n != messageSize:
		return m, fd, fmt.Errorf("message of %d bytes", n)
	}
	v := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	return message{v(0), v(1), v(2), v(3)}, fd, nil
}
