package netdev

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// MaxIfName is the longest name of a kernel device in bytes (IFNAMSIZ less its
// terminator).
const MaxIfName = unix.IFNAMSIZ - 1

// Why a name was refused by CheckIfName.
var (
	errNameEmpty   = errors.New("must not be empty")
	errNameDots    = errors.New(`must not be "." or ".."`)
	errNameBadByte = errors.New("must consist of visible ASCII characters other than / and :")
)

// CheckIfName reports why the kernel, or the tools around it, would not take name
// for a network device. It is called before any kernel call, because some of those
// cut a long name silently and then mean another device.
//
// The kernel refuses "/", ":" and white space (dev_valid_name); control characters
// and bytes beyond ASCII it takes, but output with them cannot be parsed any more.
func CheckIfName(name string) error {
	if err := checkIfName(name); err != nil {
		return fmt.Errorf("device name %q: %w", name, err)
	}
	return nil
}

func checkIfName(name string) error {
	switch {
	case name == "":
		return errNameEmpty
	case len(name) > MaxIfName:
		return fmt.Errorf("is %d bytes long, at most %d are possible", len(name), MaxIfName)
	case name == "." || name == "..":
		return errNameDots
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || c == '/' || c == ':' {
			return errNameBadByte
		}
	}
	return nil
}
