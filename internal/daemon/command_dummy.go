package daemon

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/netdev/dummy"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/packet/vnet"
)

func (c *commands) dummyCommands() []entry {
	return []entry{
		{"netdev-dummy/receive", "PORT [--qid N] {HEX | FLOW [--len N]}...", 2, control.Unlimited, c.dummyReceive},
		{"netdev-dummy/transmitted", "[--flow] PORT", 1, 2, c.dummyTransmitted},
		{"netdev-dummy/set-link", "PORT up|down", 2, 2, c.dummyLink},
		{"time/warp", "[LARGE_MSECS] MSECS", 1, 2, c.timeWarp},
	}
}

func (c *commands) dummy(name string) (*dummy.Device, error) {
	p := c.directory().Port(name)
	if p == nil {
		return nil, fmt.Errorf("no such port: %q", name)
	}
	dev, ok := p.Device.(*dummy.Device)
	if !ok {
		return nil, fmt.Errorf("port %q: not of type dummy", name)
	}
	return dev, nil
}

// dummyReceive lets frames into the switch, all or, when one is wrong, none.
func (c *commands) dummyReceive(args []string) (control.Result, error) {
	dev, err := c.dummy(args[0])
	if err != nil {
		return control.Result{}, err
	}
	queue := 0
	args = args[1:]
	if args[0] == "--qid" || args[0] == "-qid" {
		if queue, args, err = option(args); err != nil {
			return control.Result{}, err
		}
	}
	var frames [][]byte
	for len(args) > 0 {
		text, length := args[0], 0
		args = args[1:]
		if len(args) > 0 && args[0] == "--len" {
			if length, args, err = option(args); err != nil {
				return control.Result{}, err
			}
		}
		f, err := parseFrame(text, length)
		if err != nil {
			return control.Result{}, err
		}
		frames = append(frames, f)
	}
	for _, f := range frames {
		if !dev.ReceiveOffload(queue, [vnet.Len]byte{}, f) {
			return control.Result{}, fmt.Errorf("the port was removed a moment ago")
		}
	}
	return text("success")
}

// option takes an option's number off the arguments.
func option(args []string) (n int, rest []string, err error) {
	if len(args) < 2 {
		return 0, nil, fmt.Errorf("%s: needs a number", args[0])
	}
	v, err := strconv.ParseUint(args[1], 10, 20)
	if err != nil {
		return 0, nil, fmt.Errorf("%s %q: not a number", args[0], args[1])
	}
	return int(v), args[2:], nil
}

// parseFrame reads a frame as hexadecimal digits or as a flow, filled up to length bytes.
func parseFrame(text string, length int) ([]byte, error) {
	if strings.Trim(text, "0123456789abcdefABCDEF \n") == "" {
		return dummy.ParseHex(text)
	}
	f, err := flow.ComposeLen(text, length)
	if err != nil {
		return nil, fmt.Errorf("frame %q: %w", text, err)
	}
	return flow.Pad(f), nil
}

// dummyTransmitted shows the frames that the switch sent since the last call.
func (c *commands) dummyTransmitted(args []string) (control.Result, error) {
	asFlow := args[0] == "--flow"
	if asFlow {
		args = args[1:]
	}
	if len(args) != 1 {
		return control.Result{}, fmt.Errorf("netdev-dummy/transmitted: needs one port")
	}
	dev, err := c.dummy(args[0])
	if err != nil {
		return control.Result{}, err
	}
	lines := []string{}
	for _, s := range dev.TakeTransmitted() {
		line := hex.EncodeToString(s.Frame)
		if asFlow {
			var p packet.Packet
			var k flow.Key
			p.SetBytes(s.Frame)
			flow.Extract(&p, &k)
			line = strings.TrimPrefix(flow.Format(&k), "in_port=0,")
		}
		lines = append(lines, line)
	}
	return control.Result{Text: strings.Join(lines, "\n"), Value: lines}, nil
}

func (c *commands) dummyLink(args []string) (control.Result, error) {
	dev, err := c.dummy(args[0])
	if err != nil {
		return control.Result{}, err
	}
	switch args[1] {
	case "up", "down":
		dev.SetLink(args[1] == "up")
		return control.Result{}, nil
	default:
		return control.Result{}, fmt.Errorf("link state %q: neither up nor down", args[1])
	}
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
