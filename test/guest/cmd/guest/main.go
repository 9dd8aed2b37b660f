// Command guest boots and drives test guests from a shell.
//
//	guest start [flags] NAME     boot a guest; returns when it is up
//	guest exec NAME COMMAND...   run a shell command in it; its output and
//	                             exit status become ours
//	guest stop NAME...           power it off
//
// A guest lives in a process of its own, in the background, that serves the
// later commands on a socket in $GUEST_DIR (default /tmp/gvswitch-guests).
// What a guest is, package guest knows.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gvswitch/gvswitch/test/guest"
)

// failed is the exit status when it is not the guest's command that failed.
const failed = 125

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
		os.Exit(failed)
	}
	os.Exit(code)
}

func run(args []string) (int, error) {
	if len(args) < 2 {
		return 0, errors.New("usage: guest start|exec|stop [flags] NAME ... (see go doc ./test/guest/cmd/guest)")
	}
	switch verb, args := args[0], args[1:]; verb {
	case "start":
		return 0, start(args)
	case "serve": // the background process of start
		return 0, serve(args)
	case "exec":
		return execute(args)
	case "stop":
		return 0, stop(args)
	default:
		return 0, fmt.Errorf("no command %q", verb)
	}
}

// configFlags reads the flags of start.
func configFlags(args []string) (guest.Config, error) {
	var c guest.Config
	fs := flag.NewFlagSet("guest start", flag.ContinueOnError)
	kind := fs.String("kind", "uml", "uml or qemu")
	fs.StringVar(&c.Socket, "socket", "", "the vhost-user `PATH`")
	fs.BoolVar(&c.Listen, "listen", false, "listen on the socket instead of connecting (qemu)")
	fs.StringVar(&c.IP, "ip", "", "`ADDRESS/PREFIX` of eth0")
	fs.StringVar(&c.IP6, "ip6", "", "IPv6 `ADDRESS/PREFIX` of eth0")
	fs.StringVar(&c.MAC, "mac", "", "`MAC` of eth0")
	fs.IntVar(&c.MTU, "mtu", 0, "MTU of eth0")
	fs.IntVar(&c.VLAN, "vlan", 0, "put the addresses on a VLAN of eth0")
	fs.IntVar(&c.Memory, "memory", 0, "megabytes")
	fs.IntVar(&c.Queues, "queues", 0, "queue pairs (qemu)")
	fs.IntVar(&c.QueueSize, "queue-size", 0, "ring size (qemu)")
	fs.DurationVar(&c.Reconnect, "reconnect", 0, "connect again after this time (qemu)")
	fs.BoolVar(&c.NoMrg, "no-mrg", false, "no mergeable rx buffers (qemu)")
	fs.StringVar(&c.Device, "device", "", "more virtio-net-pci properties (qemu)")
	if err := fs.Parse(args); err != nil {
		return c, err
	}
	if fs.NArg() != 1 {
		return c, errors.New("start: want one NAME")
	}
	c.Name, c.Kind = fs.Arg(0), guest.Kind(*kind)
	return c, nil
}

// socketOf is where the process of a guest serves.
func socketOf(name string) string {
	dir := os.Getenv("GUEST_DIR")
	if dir == "" {
		dir = "/tmp/gvswitch-guests"
	}
	return filepath.Join(dir, name+".sock")
}
