package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/test/proc"
)

// genResult is what gvsgen prints with --json, as far as it is looked at.
type genResult struct {
	Ports []struct {
		Sent, Received, Lost, Refused, Duplicate, Reordered, Corrupt, Foreign uint64
		Latency                                                               *struct{ N uint64 } `json:"latency_us"`
	}
	Failed []string
}

// gvsgen runs the generator, which must succeed, between ports.
func gvsgen(t *testing.T, args ...string) genResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), ctlTime)
	defer cancel()
	out, err := proc.Run(ctx, filepath.Join(binDir, "gvsgen"), append([]string{"--json", "--quiet"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	var r genResult
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return r
}

// The generator's virtio-user ports, through a bridge of two vhost-user ports: all that is sent arrives, once, in order and unchanged. With fewer
// frames under way than a ring holds nothing may be lost, however busy the machine is.
func TestGvsgen(t *testing.T) {
	for _, c := range []struct{ port, traffic string }{
		{"", "--size 64 --flows 1000"},
		{",packed=true,queue_size=1024", "--size imix --flows 100 --macs 10"},
		{",mrg_rxbuf=false,in_order=false", "--size 68-1500 --proto tcp --vlan 10-13 --flows 64"},
		{",queues=2,queue_size=512", "--size 100:5,1514:2 --ipv6 --flows 50"},
		{",csum=true", "--size 300 --checksum partial"},
	} {
		t.Run(strings.TrimPrefix(c.port+" "+c.traffic, ","), func(t *testing.T) {
			s := NewSwitch(t, Options{})
			s.Ctl("add-br", "br0")
			var ports []string
			for i := range 2 {
				settings := []string{}
				switch {
				case strings.Contains(c.port, "queues=2"):
					settings = append(settings, "options:n_rxq=2")
				case strings.Contains(c.port, "csum"):
					settings = append(settings, "options:vhost-offload=true")
				}
				path := s.AddVhost(fmt.Sprintf("vu%d", i), settings...)
				ports = append(ports, "virtio-user:path="+path+c.port)
			}
			args := strings.Fields(c.traffic + " --count 20000 --warmup 50ms --expect-loss 0 --window 128")
			r := gvsgen(t, append(args, ports...)...)
			for i, p := range r.Ports {
				if p.Sent != 20000 || p.Received != 20000 || p.Lost+p.Refused+p.Duplicate+p.Reordered+p.Corrupt+p.Foreign != 0 || p.Latency == nil || p.Latency.N != 20000 {
					t.Errorf("port %d: %+v", i, p)
				}
			}
		})
	}
}

// What the switch drops, the generator finds missing, to the frame.
func TestGvsgenFindsLoss(t *testing.T) {
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	a, b := s.AddVhost("vu0"), s.AddVhost("vu1")
	s.Ctl("add-flow", "br0", "priority=1,in_port=vu0,udp,tp_src=1030,actions=drop")
	r := gvsgen(t, strings.Fields("--count 10000 --window 100 --flows 10 --vary src-port --one-way --warmup 0s --expect-loss 10% virtio-user:path="+a+" virtio-user:path="+b)...)
	if p := r.Ports; p[0].Sent != 10000 || p[1].Received != 9000 || p[1].Lost != 1000 {
		t.Errorf("%+v", p)
	}
	_, err := proc.Run(context.Background(), filepath.Join(binDir, "gvsgen"),
		strings.Fields("--count 1000 --window 100 --flows 10 --vary src-port --one-way --warmup 0s --expect-loss 99 virtio-user:path="+a+" virtio-user:path="+b)...)
	if err == nil || !strings.Contains(err.Error(), "100 of 1000 frames did not arrive, more than 99") {
		t.Errorf("error %v", err)
	}
}

// A switch that goes away and comes back is waited for: the generator goes on, and what is lost is in its account.
func TestGvsgenOutlivesSwitch(t *testing.T) {
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	a, b := s.AddVhost("vu0"), s.AddVhost("vu1")
	cmd := exec.Command(filepath.Join(binDir, "gvsgen"), "--json", "--quiet", "--check", "seq", "--rate", "1kpps", "--duration", "1h", "--warmup", "0s",
		"virtio-user:path="+a, "virtio-user:path="+b)
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	eventually(t, ctlTime, "frames", func() error { return received(s, 300) })
	s.Kill()
	s.Start()
	eventually(t, ctlTime, "frames through the new one", func() error { return received(s, 300) })
	// Interrupted, it says what was until then.
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err, out.String())
	}
	var r genResult
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
		t.Fatal(err, out.String())
	}
	for i, p := range r.Ports {
		if p.Received < 600 || p.Received+p.Lost != r.Ports[1-i].Sent || p.Duplicate+p.Corrupt+p.Reordered != 0 {
			t.Errorf("port %d: %+v", i, p)
		}
	}
}

// received is nil when the switch has received so many frames by either port.
func received(s *Switch, n uint64) error {
	for _, port := range []string{"vu0", "vu1"} {
		if got, err := s.statistic(port, "rx_packets"); err != nil || got < n {
			return fmt.Errorf("%s: %d frames, %v", port, got, err)
		}
	}
	return nil
}
