package peers

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gvswitch/gvswitch/test/proc"
)

// TestpmdConfig says how testpmd is to be attached.
type TestpmdConfig struct {
	Sockets   []string // a net_virtio_user port for each
	Server    bool     // it listens on them, for a switch that connects
	Queues    int      // queue pairs; 1 when 0
	QueueSize int      // 256 when 0
	Devargs   string   // more of each port: "mrg_rxbuf=0,in_order=0"
	MACs      []string // of the ports, DPDK's own when empty
	EAL, Args []string // more arguments, of DPDK and of testpmd
}

// Testpmd is DPDK's packet forwarder on DPDK's own virtio driver, which polls. It
// forwards on CPU 1; its commands are those of its manual.
type Testpmd struct {
	proc  *proc.Process
	stdin io.WriteCloser
}

// prompt is what testpmd prints when it has done a command.
const prompt = "testpmd> "

var lastPrefix atomic.Uint32

// StartTestpmd starts it and returns when it has attached to its sockets. It
// forwards nothing until it is told to. It needs 256 MB of free hugepages.
func StartTestpmd(ctx context.Context, c TestpmdConfig) (*Testpmd, error) {
	if err := proc.Need("dpdk-testpmd", "dpdk"); err != nil {
		return nil, err
	}
	queues, size := max(1, c.Queues), c.QueueSize
	if size == 0 {
		size = 256
	}
	args := []string{
		"-l", "0,1", "--main-lcore", "0", "--no-pci", "--in-memory", "--single-file-segments", "-m", "256", "--no-telemetry",
		"--file-prefix", fmt.Sprintf("gvst%d-%d", os.Getpid(), lastPrefix.Add(1)),
	}
	for i, s := range c.Sockets {
		dev := fmt.Sprintf("--vdev=net_virtio_user%d,path=%s,queues=%d,queue_size=%d", i, s, queues, size)
		if c.Server {
			dev += ",server=1"
		}
		if queues > 1 {
			// A control queue, which DPDK serves itself: without one it uses one pair.
			dev += ",cq=1"
		}
		if i < len(c.MACs) {
			dev += ",mac=" + c.MACs[i]
		}
		if c.Devargs != "" {
			dev += "," + c.Devargs
		}
		args = append(args, dev)
	}
	args = append(args, c.EAL...)
	args = append(args, "--", "-i", "--nb-cores=1", "--no-mlockall", "--total-num-mbufs=8192", fmt.Sprintf("--txd=%d", size),
		fmt.Sprintf("--rxd=%d", size), fmt.Sprintf("--rxq=%d", queues), fmt.Sprintf("--txq=%d", queues))
	if len(c.Sockets)%2 == 1 {
		args = append(args, "--port-topology=loop")
	}
	args = append(args, c.Args...)
	// Its answers go through stdio, its prompts do not: without line buffering
	// the answers would come long after their prompts.
	cmd := exec.Command("stdbuf", append([]string{"-oL", "dpdk-testpmd"}, args...)...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p, err := proc.Start(cmd)
	if err != nil {
		return nil, err
	}
	t := &Testpmd{proc: p, stdin: stdin}
	if _, err := t.await(ctx, 0); err != nil {
		t.Stop()
		return nil, err
	}
	return t, nil
}

// await returns what testpmd printed after the offset, up to its prompt.
func (t *Testpmd) await(ctx context.Context, offset int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		out := t.proc.Output()
		offset = min(offset, len(out)) // of a long output the middle is not kept
		if i := strings.Index(out[offset:], prompt); i >= 0 {
			return out[offset : offset+i], nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("testpmd: no prompt: %w\n%s", ctx.Err(), out)
		case <-t.proc.Done():
			return "", fmt.Errorf("testpmd: %s\n%s", t.proc.State(), out)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Command runs a testpmd command and returns what it printed.
func (t *Testpmd) Command(ctx context.Context, command string) (string, error) {
	offset := len(t.proc.Output())
	if _, err := io.WriteString(t.stdin, command+"\n"); err != nil {
		return "", fmt.Errorf("testpmd: %s: %w", command, err)
	}
	out, err := t.await(ctx, offset)
	if err == nil && (strings.Contains(out, "Bad arguments") || strings.Contains(out, "Command not found")) {
		err = fmt.Errorf("testpmd: %s: %s", command, out)
	}
	return out, err
}

// PortStats are a port's counters, as testpmd's side sees them.
type PortStats struct {
	Rx, Tx, TxDropped uint64
}

var statsForm = regexp.MustCompile(`(?s)NIC statistics for port (\d+)\s.*?RX-packets:\s+(\d+)\s.*?TX-packets:\s+(\d+)\s+TX-errors:\s+(\d+)`)

// Stats reads the counters of all ports.
func (t *Testpmd) Stats(ctx context.Context) ([]PortStats, error) {
	out, err := t.Command(ctx, "show port stats all")
	if err != nil {
		return nil, err
	}
	var stats []PortStats
	for _, m := range statsForm.FindAllStringSubmatch(out, -1) {
		var n [3]uint64
		for i := range n {
			if n[i], err = strconv.ParseUint(m[i+2], 10, 64); err != nil {
				return nil, err
			}
		}
		stats = append(stats, PortStats{n[0], n[1], n[2]})
	}
	if len(stats) == 0 {
		return nil, fmt.Errorf("testpmd: no statistics in %q", out)
	}
	return stats, nil
}

// Output is what it has printed so far.
func (t *Testpmd) Output() string { return t.proc.Output() }

// Pid is its process id.
func (t *Testpmd) Pid() int { return t.proc.Pid() }

// Stop ends it, as a crash would when it does not end by itself.
func (t *Testpmd) Stop() {
	_, _ = io.WriteString(t.stdin, "stop\nquit\n")
	select {
	case <-t.proc.Done():
	case <-time.After(5 * time.Second):
	}
	t.proc.Kill()
}
