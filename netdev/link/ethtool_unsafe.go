package link

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Hardware is what the driver says about a device.
type Hardware struct {
	Driver string // its name, "" if it has none
	Speed  uint64 // bit/s, 0 if unknown
	Duplex string // "full", "half" or ""
}

// ethtoolCmd is struct ethtool_cmd of linux/ethtool.h, the argument of ETHTOOL_GSET.
type ethtoolCmd struct {
	cmd     uint32
	_       [2]uint32
	speed   uint16
	duplex  uint8
	_       [13]byte
	speedHi uint16
	_       [2]byte
	_       uint32
	_       [2]uint32
}

// ifreqData is struct ifreq with a pointer in its union.
type ifreqData struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [16]byte
}

// Hardware asks the driver; what it does not say stays empty.
func (n *Namespace) Hardware(name string) Hardware {
	var hw Hardware
	_ = n.Do(func() error { // nothing but "unknown" comes of an error
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(fd) }()
		if info, err := unix.IoctlGetEthtoolDrvinfo(fd, name); err == nil {
			hw.Driver = unix.ByteSliceToString(info.Driver[:])
		}
		cmd := ethtoolCmd{cmd: unix.ETHTOOL_GSET}
		ifr := ifreqData{data: unsafe.Pointer(&cmd)}
		copy(ifr.name[:unix.IFNAMSIZ-1], name)
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&ifr)))
		if errno != 0 {
			return errno
		}
		if mbit := uint32(cmd.speedHi)<<16 | uint32(cmd.speed); mbit != 0 && mbit != 0xffffffff && mbit != 0xffff {
			hw.Speed = uint64(mbit) * 1e6
		}
		switch cmd.duplex {
		case 0:
			hw.Duplex = "half"
		case 1:
			hw.Duplex = "full"
		}
		return nil
	})
	return hw
}
