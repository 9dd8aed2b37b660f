package e2e

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/test/guest"
)

// sameBytes sends random bytes by TCP and compares.
func sameBytes(t *testing.T, from, to station, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Second)
	defer cancel()
	// With its input at an end, busybox's nc would not wait for the other side's.
	stop, err := to.host.Background(ctx, "sh -c 'sleep 100 | nc -l -p 7777 > /tmp/got'")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	sent, err := from.host.Run(ctx, fmt.Sprintf("head -c %d /dev/urandom > /tmp/sent && for i in $(seq 20); do nc -w 60 %s 7777 < /tmp/sent && break; sleep 0.2; done; wc -c < /tmp/sent; md5sum < /tmp/sent", n, to.ip))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, 60*time.Second, "the same bytes at "+to.name, func() error {
		got, err := to.host.Run(ctx, "wc -c < /tmp/got; md5sum < /tmp/got")
		if err == nil && got != sent {
			err = fmt.Errorf("sum %s, want %s", got, sent)
		}
		return err
	})
}

// A guest whose card is behind an IOMMU, which its kernel uses: every address that the switch sees
// has to be asked for, and is taken back all the time. The other guest has none.
func TestIOMMU(t *testing.T) {
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	a := bootGuest(t, "a", 1, guest.Config{Kind: guest.QEMU, Socket: s.AddVhost("vu0", "options:vhost-iommu-support=true"), IOMMU: true})
	b := bootGuest(t, "b", 2, guest.Config{Kind: guest.UML, Socket: s.AddVhost("vu1")})
	features := s.Ctl("get", "Interface", "vu0", "status:virtio-features")
	if !strings.Contains(features, "ACCESS_PLATFORM") {
		t.Errorf("negotiated: %s", features)
	}
	pingAll(t, a, b)
	// Under emulation each translation takes a tenth of a millisecond, and the kernel gives all up
	// a hundred times a second: this is no test of speed.
	sameBytes(t, a, b, 400_000)
	sameBytes(t, b, a, 100_000)
	eventually(t, 10*time.Second, "counters in the Interface row", func() error {
		for _, key := range []string{"iotlb-misses", "iotlb-entries"} {
			v := strings.Trim(strings.TrimSpace(s.Ctl("get", "Interface", "vu0", "status:"+key)), `"`)
			if n, err := strconv.Atoi(v); err != nil || n == 0 {
				return fmt.Errorf("%s is %s", key, v)
			}
		}
		return nil
	})
	if refused := s.Ctl("get", "Interface", "vu0", "status:iotlb-refused"); !strings.Contains(refused, `"0"`) {
		t.Errorf("refused: %s", refused)
	}
}
