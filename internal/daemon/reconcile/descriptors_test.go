package reconcile

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Devices must not take the last descriptors, and the check keeps none.
func TestDescriptorsLeft(t *testing.T) {
	count := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before := count()
	if err := descriptorsLeft(); err != nil {
		t.Fatal(err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	low := unix.Rlimit{Cur: uint64(before + spareDescriptors/2), Max: limit.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	err := descriptorsLeft()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("of the limit of %d", low.Cur); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("with half of them: %v, want %q", err, want)
	}
	if now := count(); now != before {
		t.Errorf("%d descriptors before, %d after", before, now)
	}
}
