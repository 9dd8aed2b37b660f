package daemon

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/internal/control"
)

// frameTaker is a device of type dummy: it takes frames from a command.
type frameTaker interface {
	// Receive lets a frame, as hex or flow text, enter the switch.
	Receive(frame string) error
}

// frameShower is a device of type dummy that remembers what was sent to it.
type frameShower interface {
	// Transmitted returns the frames sent since the last call, as hex.
	Transmitted() []string
}

func (c *commands) dummyCommands() []entry {
	return []entry{
		{"netdev-dummy/receive", "PORT {FRAME | FLOW}...", 2, control.Unlimited, c.dummyReceive},
		{"netdev-dummy/transmitted", "PORT", 1, 1, c.dummyTransmitted},
		{"time/warp", "[LARGE_MSECS] MSECS", 1, 2, c.timeWarp},
	}
}

// dummy finds a port whose device can do what is asked.
func dummy[T any](c *commands, name string) (dev T, err error) {
	p := c.directory().Port(name)
	if p == nil {
		return dev, fmt.Errorf("no such port: %q", name)
	}
	dev, ok := p.Device.(T)
	if !ok {
		return dev, fmt.Errorf("port %q: not of type dummy", name)
	}
	return dev, nil
}

func (c *commands) dummyReceive(args []string) (control.Result, error) {
	dev, err := dummy[frameTaker](c, args[0])
	if err != nil {
		return control.Result{}, err
	}
	for _, frame := range args[1:] {
		if err := dev.Receive(frame); err != nil {
			return control.Result{}, fmt.Errorf("frame %q: %w", frame, err)
		}
	}
	return text("success")
}

func (c *commands) dummyTransmitted(args []string) (control.Result, error) {
	dev, err := dummy[frameShower](c, args[0])
	if err != nil {
		return control.Result{}, err
	}
	frames := dev.Transmitted()
	return control.Result{Text: strings.Join(frames, "\n"), Value: frames}, nil
}

// timeWarp moves the clock by which addresses age. Open vSwitch's two numbers are how far and in which steps.
func (c *commands) timeWarp(args []string) (control.Result, error) {
	ms, err := strconv.ParseUint(args[0], 10, 40)
	if err != nil {
		return control.Result{}, fmt.Errorf("time/warp %q: not a number of milliseconds", args[0])
	}
	c.dp.Warp(int64(ms))
	return text("warped")
}
