package netdevtest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// Hosts gives the device of each namespace addresses 10.9.0.N and fd09::N, N from 1.
func Hosts(t testing.TB, devices map[string]string, namespaces ...string) {
	t.Helper()
	for i, ns := range namespaces {
		dev := devices[ns]
		Run(t, "ip", "netns", "exec", ns, "sh", "-c", "echo 0 >/proc/sys/net/ipv6/conf/"+dev+"/disable_ipv6")
		IP(t, fmt.Sprintf("-n %s addr add 10.9.0.%d/24 dev %s", ns, i+1, dev))
		IP(t, fmt.Sprintf("-n %s addr add fd09::%d/64 dev %s nodad", ns, i+1, dev))
	}
}

// NoChecksumErrors fails the test if the kernel of a namespace saw a TCP or UDP
// checksum that was wrong.
func NoChecksumErrors(t testing.TB, namespaces ...string) {
	t.Helper()
	for _, ns := range namespaces {
		s := Run(t, "ip", "netns", "exec", ns, "nstat", "-az", "TcpInCsumErrors", "UdpInCsumErrors", "Udp6InCsumErrors")
		if strings.Count(s, "InCsumErrors") != 3 {
			t.Errorf("counters are missing: %s", s)
		}
		for line := range strings.Lines(s) {
			if f := strings.Fields(line); len(f) > 1 && strings.HasSuffix(f[0], "InCsumErrors") && f[1] != "0" {
				t.Error(line)
			}
		}
	}
}

// Transfer sends n bytes by TCP, and they arrive as they were.
func Transfer(t *testing.T, from, to, host string, n int) {
	t.Helper()
	var l net.Listener
	In(t, to, func() (err error) {
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
	In(t, from, func() (err error) {
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
	t.Logf("TCP to %s: %.0f Mbit/s", host, float64(n)*8/time.Since(began).Seconds()/1e6)
}

// Datagrams sends UDP of several sizes, fragments too.
func Datagrams(t *testing.T, from, to, host string) {
	t.Helper()
	var c net.Conn
	var l net.PacketConn
	In(t, to, func() (err error) {
		l, err = net.ListenPacket("udp", net.JoinHostPort(host, "0"))
		return err
	})
	defer func() { _ = l.Close() }()
	In(t, from, func() (err error) {
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
