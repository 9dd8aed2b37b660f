package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// lastPort makes the iperf3 servers of a process listen on different ports.
var lastPort atomic.Uint32

// IperfResult is what a TCP transfer came to.
type IperfResult struct {
	Mbps        float64 // received
	Retransmits int
}

// Iperf sends TCP from client to addr, which is server's, for a time.
// The flags are more of iperf3's client, such as "-R".
func Iperf(ctx context.Context, client, server Host, addr string, d time.Duration, flags ...string) (IperfResult, error) {
	var r IperfResult
	port := 5201 + lastPort.Add(1)%1000
	stop, err := server.Background(ctx, fmt.Sprintf("iperf3 -s -1 -p %d", port))
	if err != nil {
		return r, err
	}
	defer stop()
	if err := awaitListener(ctx, server, port); err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeout(ctx, d+30*time.Second)
	defer cancel()
	out, err := client.Run(ctx, fmt.Sprintf("iperf3 -J -c %s -p %d -t %d %s", addr, port, int(d.Seconds()), strings.Join(flags, " ")))
	if err != nil {
		return r, fmt.Errorf("iperf3 to %s: %w", addr, err)
	}
	var report struct {
		Error string
		End   struct {
			SumSent struct {
				Retransmits int
			} `json:"sum_sent"`
			SumReceived struct {
				Bytes         float64
				BitsPerSecond float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		return r, fmt.Errorf("iperf3 to %s: %w: %s", addr, err, out)
	}
	if report.Error != "" || report.End.SumReceived.Bytes == 0 {
		return r, fmt.Errorf("iperf3 to %s: nothing received: %s", addr, report.Error)
	}
	return IperfResult{report.End.SumReceived.BitsPerSecond / 1e6, report.End.SumSent.Retransmits}, nil
}

// awaitListener returns when a TCP port is listened on, as /proc/net/tcp6 tells
// (iperf3 listens for both families on an IPv6 socket).
func awaitListener(ctx context.Context, h Host, port uint32) error {
	command := fmt.Sprintf("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do "+
		"grep -q ':%04X 0*:0000 0A' /proc/net/tcp6 /proc/net/tcp && exit 0; sleep 0.1; done; exit 1", port)
	if _, err := h.Run(ctx, command); err != nil {
		return fmt.Errorf("iperf3 does not listen on port %d: %w", port, err)
	}
	return nil
}

// Ping sends a few echo requests until one is answered, and fails when none is
// in time. It serves both families.
func Ping(ctx context.Context, from Host, addr string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout+10*time.Second)
	defer cancel()
	// Guests have busybox, and the tests need it for them; each try lasts for about a second.
	command := fmt.Sprintf("for i in $(seq %d); do busybox ping -c 1 -W 1 %s >/dev/null 2>&1 && exit 0; sleep 0.05; done; exit 1",
		max(1, int(timeout.Seconds())), addr)
	if _, err := from.Run(ctx, command); err != nil {
		return fmt.Errorf("no answer to pings to %s within %v: %w", addr, timeout, err)
	}
	return nil
}
