package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/internal/control"
)

var explainOptions = []option{
	{name: "count", arg: needsArg},
	{name: "names"},
	{name: "no-names"},
	{name: "format", short: 'f', arg: needsArg},
}

// explainCount is how many packets are explained if nothing else is said.
const explainCount = 5

// explain follows packets of a bridge as they are forwarded, and prints what happens to each, until there were as many as --count says (0: until it is
// interrupted).
func (p *program) explain(ctx context.Context, s *settings, line parsed) error {
	given, operands, err := permute(line.rest[1:], explainOptions)
	if err != nil {
		return err
	}
	for _, o := range line.locals {
		if o.Name != "--names" && o.Name != "--no-names" {
			return fmt.Errorf("'explain' command has no '%s' option", o.Name)
		}
		given = append(given, o.Name)
	}
	if len(operands) < 1 || len(operands) > 2 {
		return errors.New("explain takes a bridge and perhaps a flow")
	}
	opt, err := readFlowOptions(given)
	if err != nil {
		return err
	}
	asJSON := opt.json || s.vsctl.Style.Format == "json"
	count := uint64(explainCount) // 0: no end
	for _, g := range given {
		if v, ok := strings.CutPrefix(g, "--count="); ok {
			if count, err = strconv.ParseUint(v, 10, 31); err != nil {
				return fmt.Errorf("--count: %q is not a number of packets", v)
			}
		}
	}
	c, err := p.dialSwitch(ctx, control.Socket(s.runDir))
	if err != nil {
		return err
	}
	defer c.Close()
	start := slices.Clone(operands)
	if opt.names == yes || opt.names == unset && isTerminal(p.stdout) {
		start = append([]string{"--names"}, start...)
	}
	if _, err := c.Call(ctx, "explain/start", start...); err != nil {
		return commandError(err)
	}
	if err := c.SetJSON(ctx); err != nil {
		return err
	}
	return p.follow(ctx, c, asJSON, count)
}

// follow prints packets: for programs a JSON object each, in a line of its own.
func (p *program) follow(ctx context.Context, c *control.Client, asJSON bool, count uint64) error {
	for seen := uint64(0); count == 0 || seen < count; {
		raw, err := c.CallJSON(ctx, "explain/next")
		if err != nil {
			return commandError(err)
		}
		var packets []struct {
			Text string `json:"text"`
		}
		var values []json.RawMessage
		if err := errors.Join(json.Unmarshal(raw, &packets), json.Unmarshal(raw, &values)); err != nil {
			return err
		}
		for i := range packets {
			text := packets[i].Text
			if asJSON {
				text = string(values[i]) + "\n"
			}
			if _, err := io.WriteString(p.stdout, text); err != nil {
				return err
			}
			if seen++; seen == count {
				break
			}
		}
	}
	return nil
}

// commandError is what gvswitchd refused, without the newline that ends it.
func commandError(err error) error {
	var refused *control.CommandError
	if errors.As(err, &refused) {
		return errors.New(strings.TrimSuffix(refused.Text, "\n"))
	}
	return err
}
