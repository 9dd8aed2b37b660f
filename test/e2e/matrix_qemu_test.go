package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/test/guest"
	"github.com/gvswitch/gvswitch/test/peers"
)

// What QEMU can be told of its network card, with a Linux kernel behind it.
var qemuFactors = []factor{
	{"packed", []string{"off", "on"}},
	{"mrg_rxbuf", []string{"off", "on"}},
	{"event_idx", []string{"off", "on"}},
	{"indirect_desc", []string{"off", "on"}},
	{"mq", []string{"off", "on"}},
	{"disable-modern", []string{"off", "on"}},
}

var qemuRules = []exclusion{
	{"a legacy device has no packed ring (virtio 1.2, section 6)", func(c combination) bool { return c.on("packed") && c.on("disable-modern") }},
}

// TestMatrixQEMU boots QEMU guests, two at a time, on a bridge with a namespace that each of them talks to.
func TestMatrixQEMU(t *testing.T) {
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	ns := addNamespace(s, "ns", 250)
	var last atomic.Int32
	matrix(t, qemuFactors, qemuRules, func(t *testing.T, c combination) {
		t.Parallel()
		matrixQEMU(t, s.during(t), ns, int(last.Add(1)), c)
	})
	// The parallel parts run when this returns; the switch's end, which checks it, comes after them.
}

func matrixQEMU(t *testing.T, s *Switch, ns station, n int, c combination) {
	port := fmt.Sprintf("vu%d", n)
	cfg := guest.Config{Kind: guest.QEMU, Queues: 1, NoMrg: !c.on("mrg_rxbuf")}
	var device []string
	for _, name := range []string{"packed", "event_idx", "indirect_desc", "disable-modern"} {
		device = append(device, name+"="+c[name])
	}
	cfg.Device = strings.Join(device, ",")
	if c.on("mq") {
		cfg.Queues = 2
	}
	cfg.Socket = s.AddVhost(port, fmt.Sprintf("options:n_rxq=%d", cfg.Queues))
	g := bootGuest(t, fmt.Sprintf("q%d", n), n, cfg)
	checkAcked(t, s, port, map[string]bool{
		"RING_PACKED": c.on("packed"), "MRG_RXBUF": c.on("mrg_rxbuf"), "EVENT_IDX": c.on("event_idx"),
		"INDIRECT_DESC": c.on("indirect_desc"), "MQ": c.on("mq"), "VERSION_1": !c.on("disable-modern"),
	})
	status(t, s, port, "n_rxq", fmt.Sprint(cfg.Queues))
	talk(t, g, ns)
	noBadFrames(t, s)
	s.Ctl("del-port", port)
}

// copied is how many bytes are carried each way: some rings full of long frames.
const copied = 1 << 20

// talk has two stations ping each other with frames of many sizes and exchange random bytes, which must be
// the same at the other end.
func talk(t *testing.T, a, b station) {
	t.Helper()
	ctx := context.Background()
	begin := time.Now()
	defer func() { t.Logf("%s and %s talked for %v", a.name, b.name, time.Since(begin).Round(time.Millisecond)) }()
	for _, pair := range [][2]station{{a, b}, {b, a}} {
		if err := peers.Ping(ctx, pair[0].host, pair[1].ip, pingTime); err != nil {
			t.Errorf("%s to %s: %v", pair[0].name, pair[1].name, err)
			return
		}
		// -p: a pattern that ping compares in the answer.
		command := "for size in 0 18 200 1472; do busybox ping -q -c 2 -i 0.05 -W 5 -s $size -p a5 " + pair[1].ip + " || exit; done"
		if _, err := pair[0].host.Run(ctx, command); err != nil {
			t.Errorf("%s to %s: %v", pair[0].name, pair[1].name, err)
		}
		carryBytes(ctx, t, pair[0], pair[1])
	}
}

// carryBytes sends random bytes by TCP and compares their sums.
func carryBytes(ctx context.Context, t *testing.T, from, to station) {
	t.Helper()
	dir := "/tmp"
	if _, ok := from.host.(*guest.Guest); !ok {
		dir = t.TempDir()
	}
	port, file := 6000+rand.IntN(20000), filepath.Join(dir, "sent")
	if _, err := from.host.Run(ctx, fmt.Sprintf("head -c %d /dev/urandom > %s", copied, file)); err != nil {
		t.Error(err)
		return
	}
	got := make(chan string, 1)
	go func() {
		// The pipe keeps its input from ending, with which it would end.
		out, err := to.host.Run(ctx, fmt.Sprintf("mkfifo /tmp/nc%[1]d && busybox nc -l -p %[1]d <>/tmp/nc%[1]d | sha256sum; rm /tmp/nc%[1]d", port))
		got <- fmt.Sprint(strings.TrimSpace(out), errText(err))
	}()
	want, err := from.host.Run(ctx, fmt.Sprintf("sha256sum < %s; for i in 1 2 3 4 5 6 7 8 9 10; do busybox nc -w 20 %s %d < %s && exit; sleep 0.2; done; exit 1",
		file, to.ip, port, file))
	if err != nil {
		t.Errorf("%s to %s: %v", from.name, to.name, err)
		return
	}
	select {
	case sum := <-got:
		if sum != strings.TrimSpace(want) {
			t.Errorf("%s to %s: %d bytes arrived as %s; want %s", from.name, to.name, copied, sum, want)
		}
	case <-time.After(30 * time.Second):
		t.Errorf("%s to %s: the bytes do not end", from.name, to.name)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}
