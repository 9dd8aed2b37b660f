package peers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"

	"github.com/gvswitch/gvswitch/test/proc"
)

// Netns is a network namespace made by us, seen by "ip netns". The zero value is
// the namespace that the test runs in.
type Netns struct {
	Name string
}

// lastNetns makes the names of a process's namespaces differ.
var lastNetns atomic.Uint32

// NewNetns makes a namespace with its loopback device up. The name has the word
// in it, and the process id.
func NewNetns(ctx context.Context, word string) (*Netns, error) {
	n := &Netns{Name: fmt.Sprintf("gvst-%s-%d-%d", word, os.Getpid(), lastNetns.Add(1))}
	if _, err := proc.Run(ctx, "ip", "netns", "add", n.Name); err != nil {
		return nil, err
	}
	if _, err := n.Run(ctx, "ip link set lo up"); err != nil {
		n.Remove()
		return nil, err
	}
	return n, nil
}

// Remove removes the namespace with the devices in it.
func (n *Netns) Remove() {
	_, _ = proc.Run(context.Background(), "ip", "netns", "del", n.Name) // gone already is as good
}

// Wrap makes a command run in the namespace.
func (n *Netns) Wrap(name string, args ...string) *exec.Cmd {
	if n.Name == "" {
		return exec.Command(name, args...)
	}
	return exec.Command("ip", append([]string{"netns", "exec", n.Name, name}, args...)...)
}

// Run implements Host.
func (n *Netns) Run(ctx context.Context, command string) (string, error) {
	cmd := n.Wrap("sh", "-c", command)
	return proc.Run(ctx, cmd.Args[0], cmd.Args[1:]...)
}

// Background implements Host.
func (n *Netns) Background(_ context.Context, command string) (func(), error) {
	p, err := proc.Start(n.Wrap("sh", "-c", command))
	if err != nil {
		return nil, err
	}
	return p.Kill, nil
}

// AddAddrs puts addresses (ADDRESS/PREFIX) on a device of the namespace and sets
// it up. IPv6 addresses can be used at once.
func (n *Netns) AddAddrs(ctx context.Context, dev string, addrs ...string) error {
	for _, a := range addrs {
		family, nodad := "-4", ""
		if strings.Contains(a, ":") {
			family, nodad = "-6", "nodad"
		}
		if _, err := n.Run(ctx, fmt.Sprintf("ip %s addr add %s dev %s %s", family, a, dev, nodad)); err != nil {
			return err
		}
	}
	_, err := n.Run(ctx, "ip link set "+dev+" up")
	return err
}
