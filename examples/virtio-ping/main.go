// Command virtio-ping is a container application with a network card of its own: no device of the
// kernel, no root, only the socket of a vhost-user port. It answers ARP and pings to its address, and
// pings another one if asked to.
//
// On a switch with a port that listens:
//
//	gvsctl add-port br0 app0 type=vhost-user
//	virtio-ping -path /run/gvswitch/app0 -addr 10.0.0.5 -ping 10.0.0.1
//
// It knows nothing of a switch: what is at the other end of the socket may be any vhost-user back end.
package main

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"time"

	"github.com/gvswitch/gvswitch/netdev"
)

func main() {
	path := flag.String("path", "", "socket of the vhost-user port")
	addr := flag.String("addr", "", "own IPv4 address")
	target := flag.String("ping", "", "IPv4 address to ping")
	count := flag.Int("count", 0, "pings to be answered before the program ends; 0: it goes on")
	flag.Parse()
	if err := run(*path, *addr, *target, *count); err != nil {
		fmt.Fprintln(os.Stderr, "virtio-ping:", err)
		os.Exit(1)
	}
}

func run(path, addr, target string, count int) error {
	own, err := netip.ParseAddr(addr)
	if err != nil || !own.Is4() {
		return fmt.Errorf("-addr %q: not an IPv4 address", addr)
	}
	h := &host{ip: own.As4()}
	if target != "" {
		t, err := netip.ParseAddr(target)
		if err != nil || !t.Is4() {
			return fmt.Errorf("-ping %q: not an IPv4 address", target)
		}
		h.target = t.As4()
	}
	c, err := openCard("app", netdev.Options{Map: map[string]string{"path": path}})
	if err != nil {
		return err
	}
	defer c.close()
	h.mac = [6]byte(c.dev.Info().MAC)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return nil
		case <-tick.C:
			if target != "" {
				if why := h.unanswered(); why != "" {
					fmt.Printf("%s: %s\n", target, why)
				}
				c.send(h.ask(time.Now()))
			}
		default:
			c.wait(100 * time.Millisecond)
		}
		c.receive(func(frame []byte) {
			if reply := h.answer(frame); reply != nil {
				c.send(reply)
			}
			if rtt, ok := h.answered(frame, time.Now()); ok {
				fmt.Printf("answer from %s after %v\n", target, rtt)
				count--
				if count == 0 {
					close(stop)
				}
			}
		})
	}
}
