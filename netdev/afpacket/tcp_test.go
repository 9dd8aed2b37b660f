package afpacket_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/netdev/netdevtest"
)

// Two hosts with the kernel's own TCP and UDP, offloads as they are by default, and
// two ports with a poll thread between them (B47, B48).
func TestKernelTCPThrough(t *testing.T) {
	left, right, middle := netdevtest.Netns(t), netdevtest.Netns(t), netdevtest.Netns(t)
	netdevtest.Pair(t, middle, "v0", left, "h0")
	netdevtest.Pair(t, middle, "v1", right, "h1")
	for i, ns := range []string{left, right} {
		dev := fmt.Sprintf("h%d", i)
		netdevtest.Run(t, "ip", "netns", "exec", ns, "sh", "-c", "echo 0 >/proc/sys/net/ipv6/conf/"+dev+"/disable_ipv6")
		netdevtest.IP(t, fmt.Sprintf("-n %s addr add 10.9.0.%d/24 dev %s", ns, i+1, dev))
		netdevtest.IP(t, fmt.Sprintf("-n %s addr add fd09::%d/64 dev %s nodad", ns, i+1, dev))
	}
	_, a := open(t, middle, "v0")
	_, b := open(t, middle, "v1")
	netdevtest.Forward(t, a, b)
	for _, host := range []string{"10.9.0.2", "fd09::2"} {
		transfer(t, left, right, host, 64<<20)
		datagrams(t, left, right, host)
	}
	for _, ns := range []string{left, right} {
		s := netdevtest.Run(t, "ip", "netns", "exec", ns, "sh", "-c", "grep -E '^(Tcp|Udp):' /proc/net/snmp; cat /proc/net/snmp6")
		for line := range strings.Lines(s) {
			if f := strings.Fields(line); strings.HasSuffix(f[0], "InCsumErrors") && f[1] != "0" {
				t.Error(line)
			}
		}
	}
	if n := netdevtest.Drops(&a.RxSt.Drops) + netdevtest.Drops(&b.RxSt.Drops); n != 0 {
		t.Errorf("%d lost at receive", n)
	}
}

// transfer sends n bytes by TCP, and they arrive as they were.
func transfer(t *testing.T, from, to, host string, n int) {
	t.Helper()
	var l net.Listener
	netdevtest.In(t, to, func() (err error) {
		l, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
		return err
	})
	defer func() { _ = l.Close() }()
	block := bytes.Repeat([]byte("0123456789abcdefghijklmnopqrstuvwxyz!"), 1771)
	sum := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			sum <- err.Error()
			return
		}
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(time.Now().Add(60 * time.Second))
		h := sha256.New()
		_, err = io.Copy(h, c)
		sum <- fmt.Sprintf("%x %v", h.Sum(nil), err)
	}()
	var c net.Conn
	netdevtest.In(t, from, func() (err error) {
		c, err = net.DialTimeout("tcp", l.Addr().String(), 10*time.Second)
		return err
	})
	_ = c.SetDeadline(time.Now().Add(60 * time.Second))
	h, began := sha256.New(), time.Now()
	for sent := 0; sent < n; sent += len(block) {
		if _, err := c.Write(block); err != nil {
			t.Fatal(err)
		}
		_, _ = h.Write(block)
	}
	_ = c.Close()
	if got, want := <-sum, fmt.Sprintf("%x <nil>", h.Sum(nil)); got != want {
		t.Errorf("to %s: received %s, want %s", host, got, want)
	}
	t.Logf("%s: %.0f Mbit/s", host, float64(n)*8/time.Since(began).Seconds()/1e6)
}

// datagrams sends UDP of several sizes, fragments too.
func datagrams(t *testing.T, from, to, host string) {
	t.Helper()
	var c net.Conn
	var l net.PacketConn
	netdevtest.In(t, to, func() (err error) {
		l, err = net.ListenPacket("udp", net.JoinHostPort(host, "0"))
		return err
	})
	defer func() { _ = l.Close() }()
	netdevtest.In(t, from, func() (err error) {
		c, err = net.Dial("udp", l.LocalAddr().String())
		return err
	})
	defer func() { _ = c.Close() }()
	buf := make([]byte, 65536)
	for _, n := range []int{0, 1, 17, 1400, 1472, 1473, 20000} {
		want := bytes.Repeat([]byte{byte(n)}, n)
		if _, err := c.Write(want); err != nil {
			t.Fatal(err)
		}
		_ = l.SetReadDeadline(time.Now().Add(10 * time.Second))
		k, _, err := l.ReadFrom(buf)
		if err != nil || !bytes.Equal(buf[:k], want) {
			t.Errorf("%d bytes to %s: received %d, %v", n, host, k, err)
		}
	}
}
