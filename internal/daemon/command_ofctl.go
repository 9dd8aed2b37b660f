package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/internal/control"
)

// The commands behind gvsctl's flow commands. Their arguments are gvsctl's business and may change with it: options first, each in one word,
// then the bridge. Those that take a text take what "ofctl/stage" brought before when it is missing.

// ofctlCommands are those that need no text of any length.
func (c *commands) ofctlCommands() []entry {
	return []entry{
		{"ofctl/dump-flows", "[OPTION]... BRIDGE [FLOW]", 1, control.Unlimited, c.dumpFlows},
		{"ofctl/dump-aggregate", "BRIDGE [FLOW]", 1, 2, c.dumpAggregate},
		{"ofctl/dump-tables", "[--names] BRIDGE", 1, 2, c.dumpTables},
		{"ofctl/dump-ports-desc", "BRIDGE [PORT]", 1, 2, c.dumpPortsDesc},
		{"ofctl/dump-desc", "BRIDGE", 1, 1, c.dumpDesc},
		{"ofctl/show", "BRIDGE", 1, 1, c.showSwitch},
		{"ofctl/names", "BRIDGE", 1, 1, c.bridgeNames},
		{"ofctl/mod-port", "BRIDGE PORT ACTION", 3, 3, c.modPort},
		{"ofctl/dump-groups", "[--names] BRIDGE [GROUP]", 1, 3, c.dumpGroups},
		{"ofctl/dump-group-stats", "BRIDGE [GROUP]", 1, 2, c.dumpGroupStats},
		{"ofctl/dump-group-features", "BRIDGE", 1, 1, c.dumpGroupFeatures},
		{"ofctl/change-meter", "BRIDGE add|modify|delete [METER]", 2, 3, c.changeMeter},
		{"ofctl/dump-meters", "BRIDGE [METER]", 1, 2, c.dumpMeters},
		{"ofctl/meter-stats", "BRIDGE [METER]", 1, 2, c.meterStats},
		{"ofctl/meter-features", "BRIDGE", 1, 1, c.meterFeatures},
		{"ofctl/packet-out", "BRIDGE PACKET-OUT", 2, 2, c.packetOut},
		{"bridge/dump-flows", "BRIDGE", 1, 1, c.bridgeDumpFlows},
	}
}

// textCommand is a command that takes a text: what stands behind its operands, or what was staged.
type textCommand struct {
	name, usage string
	operands    int
	options     []string
	run         func(*textCall) (control.Result, error)
}

// textCall is one call of it.
type textCall struct {
	given, operands []string
	text            string
}

func (c *commands) textCommands() []textCommand {
	return []textCommand{
		{"ofctl/change-flows", "[--bundle] [--source=FILE] BRIDGE CHANGE [TEXT]", 2, []string{"--bundle", "--source="}, c.changeFlows},
		{"ofctl/replace-flows", "[--readd] [--source=FILE] BRIDGE [TEXT]", 1, []string{"--readd", "--source="}, c.replaceFlows},
		{"ofctl/change-groups", "[--bundle] [--source=FILE] BRIDGE CHANGE [TEXT]", 2, []string{"--bundle", "--source="}, c.changeGroups},
	}
}

// registerText makes them and the staging known.
func (c *commands) registerText(s *control.Server) {
	staged := &stage{}
	s.Register("ofctl/stage", "TEXT", 1, 1, func(ctx context.Context, args []string) (string, error) {
		return "", staged.add(ctx, args[0])
	})
	for _, t := range c.textCommands() {
		s.RegisterResult(t.name, t.usage, t.operands, control.Unlimited, func(ctx context.Context, args []string) (control.Result, error) {
			call := &textCall{text: staged.take(ctx)}
			var err error
			if call.given, call.operands, err = splitOptions(t.name, args, t.options...); err != nil {
				return control.Result{}, err
			}
			switch n := len(call.operands); {
			case n == t.operands+1:
				call.text = call.operands[t.operands]
			case n != t.operands:
				return control.Result{}, fmt.Errorf("%s: takes %s", t.name, t.usage)
			}
			defer c.dp.Reserve(flowMemory(call.text))()
			return t.run(call)
		})
	}
}

// flowMemory is about what reading and applying a text of flows takes, in bytes: a line's flow has some 800, and comes and goes more than once.
func flowMemory(text string) int64 {
	return int64(len(text))*4 + int64(strings.Count(text, "\n"))*2500
}

// splitOptions takes the options, which begin with "--", off the arguments. One that is known as "--name=" has a value.
func splitOptions(command string, args []string, known ...string) (given, operands []string, err error) {
	for len(args) > 0 && strings.HasPrefix(args[0], "--") {
		if !slices.ContainsFunc(known, func(k string) bool {
			return args[0] == k || strings.HasSuffix(k, "=") && strings.HasPrefix(args[0], k)
		}) {
			return nil, nil, fmt.Errorf("%s: unknown option %q", command, args[0])
		}
		given = append(given, args[0])
		args = args[1:]
	}
	return given, args, nil
}

// optionValue is the value of an option "--name=".
func optionValue(given []string, name string) string {
	for _, g := range given {
		if v, ok := strings.CutPrefix(g, name); ok {
			return v
		}
	}
	return ""
}

// operand is an argument that may be missing.
func operand(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}
