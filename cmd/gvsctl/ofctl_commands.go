package main

import (
	"fmt"
	"slices"
	"strings"
)

// flowCommands are ovs-ofctl's commands, with its numbers of arguments.
func flowCommands() []flowCommand {
	return []flowCommand{
		{"add-flow", "BRIDGE FLOW", 2, 2, "add a flow, or those read from standard input if FLOW is -", true, addFlow},
		{"add-flows", "BRIDGE FILE", 2, 2, "add the flows in a file, one a line", true, addFlows},
		{"mod-flows", "BRIDGE FLOW", 2, 2, "change the actions of matching flows", true, modFlows},
		{"del-flows", "BRIDGE [FLOW]", 1, 2, "delete matching flows", true, delFlows},
		{"replace-flows", "BRIDGE FILE", 2, 2, "make the flows those in a file", true, replaceFlows},
		{"diff-flows", "SOURCE SOURCE", 2, 2, "compare the flows of files or bridges", false, diffFlows},
		{"dump-flows", "BRIDGE [FLOW]", 1, 2, "print flows", false, dumpFlows},
		{"dump-aggregate", "BRIDGE [FLOW]", 1, 2, "print counters of flows together", false, dumpAggregate},
		{"dump-tables", "BRIDGE", 1, 1, "print counters of the flow tables", false, dumpTables},
		{"dump-ports", "BRIDGE [PORT]", 1, 2, "print the counters of ports", false, dumpPorts},
		{"dump-ports-desc", "BRIDGE [PORT]", 1, 2, "print what ports are like", false, dumpPortsDesc},
		{"dump-desc", "BRIDGE", 1, 1, "print what the switch is", false, dumpDesc},
		{"show", "BRIDGE", 1, 1, "print what the switch can do, and its ports", false, showSwitch},
		{"mod-port", "BRIDGE PORT ACTION", 3, 3, "change a port: up, down, [no-]flood, [no-]forward, [no-]receive", true, modPort},
		{"get-frags", "BRIDGE", 1, 1, "print how fragments are handled", false, getFrags},
		{"set-frags", "BRIDGE MODE", 2, 2, "set how fragments are handled; normal is the only mode", true, setFrags},
		{"add-group", "BRIDGE [GROUP]", 1, 2, "add a group", true, groupCommand("add")},
		{"add-groups", "BRIDGE [FILE]", 1, 2, "add the groups in a file, one a line", true, groupFile},
		{"mod-group", "BRIDGE [GROUP]", 1, 2, "change a group", true, groupCommand("modify")},
		{"del-groups", "BRIDGE [GROUP]", 1, 2, "delete one group or all", true, groupCommand("delete")},
		{"insert-buckets", "BRIDGE [GROUP]", 1, 2, "add buckets to a group", true, groupCommand("insert_bucket")},
		{"remove-buckets", "BRIDGE [GROUP]", 1, 2, "take buckets from a group", true, groupCommand("remove_bucket")},
		{"dump-groups", "BRIDGE [GROUP]", 1, 2, "print groups", false, dumpGroups},
		{"dump-group-stats", "BRIDGE [GROUP]", 1, 2, "print counters of groups", false, dumpGroupStats},
		{"dump-group-features", "BRIDGE", 1, 1, "print what groups can do", false, dumpGroupFeatures},
		{"add-meter", "BRIDGE METER", 2, 2, "add a meter", true, meterCommand("add")},
		{"mod-meter", "BRIDGE METER", 2, 2, "change a meter", true, meterCommand("modify")},
		{"del-meters", "BRIDGE [METER]", 1, 2, "delete one meter or all", true, meterCommand("delete")},
		{"del-meter", "BRIDGE [METER]", 1, 2, "the same", true, meterCommand("delete")},
		{"dump-meters", "BRIDGE [METER]", 1, 2, "print meters", false, dumpMeters},
		{"dump-meter", "BRIDGE [METER]", 1, 2, "the same", false, dumpMeters},
		{"meter-stats", "BRIDGE [METER]", 1, 2, "print counters of meters", false, meterStats},
		{"meter-features", "BRIDGE", 1, 1, "print what meters can do", false, meterFeatures},
		{"packet-out", "BRIDGE PACKET-OUT", 2, -1, "send a packet through actions", true, packetOut},
		{"probe", "BRIDGE", 1, 1, "find out whether there is such a bridge", false, probe},
		{"parse-flow", "FLOW", 1, 1, "check a flow, and print it as it is understood", false, parseFlow},
		{"parse-flows", "FILE", 1, 1, "check the flows in a file", false, parseFlows},
		{"parse-actions", "ACTIONS", 1, 1, "check actions, and print them as they are understood", false, parseActions},
		{"parse-group", "GROUP", 1, 1, "check a group, and print it as it is understood", false, parseGroup},
	}
}

// absentFlowCommands are ovs-ofctl's that this version does not have, and why.
var absentFlowCommands = map[string]string{
	"bundle":              "changes of groups and flows together are not in this version; --bundle add-flows is",
	"monitor":             noOpenFlow,
	"snoop":               noOpenFlow,
	"ping":                noOpenFlow,
	"benchmark":           noOpenFlow,
	"ofp-parse":           noOpenFlow,
	"ofp-parse-pcap":      noOpenFlow,
	"mod-table":           "tables have neither names that can be changed by a command nor eviction in this version",
	"dump-table-features": "not in this version",
	"dump-table-desc":     "not in this version",
	"queue-stats":         "there are no queues in this version",
	"queue-get-config":    "there are no queues in this version",
	"add-tlv-map":         "there are no tunnels in this version",
	"del-tlv-map":         "there are no tunnels in this version",
	"dump-tlv-map":        "there are no tunnels in this version",
	"dump-ipfix-bridge":   "there is no IPFIX in this version",
	"dump-ipfix-flow":     "there is no IPFIX in this version",
	"ct-flush-zone":       "there is no connection tracking in this version",
	"ct-flush":            "there is no connection tracking in this version",
}

const noOpenFlow = "the switch does not speak OpenFlow itself in this version"

// gvsctlNames are the flow commands that gvsctl has under the same name, which is all but show, which is ovs-vsctl's.
func isFlowCommand(name string) bool {
	return name != "show" && (findFlowCommand(name) != nil || absentFlowCommands[name] != "")
}

func findFlowCommand(name string) *flowCommand {
	all := flowCommands()
	if i := slices.IndexFunc(all, func(c flowCommand) bool { return c.name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

const ofctlHelpHead = `%[1]s: OpenFlow switch management utility
usage: %[1]s [OPTIONS] COMMAND [ARG...]

Commands:
`

const ofctlHelpTail = `
Options:
  --bundle                    all changes or none
  --strict                    match flows with all their fields and priority
  --readd                     replace-flows: flows that are the same are new, too
  --may-create                mod-group: add it if there is none
  --read-only                 do not execute commands that change anything
  --names, --no-names         show ports and tables by name, or by number;
                              by default names, if the output is a terminal
  --no-stats                  dump-flows: without counters and times
  --sort[=FIELD]              dump-flows: sort, by priority or a field
  --rsort[=FIELD]             the same, the highest first
  -O, --protocols=VERSIONS    taken, chooses headings only
  -t, --timeout=SECS          give up after SECS seconds
  -h, --help                  print this help
  -V, --version               print the version
`

func (p *program) ofctlHelp() int {
	var b strings.Builder
	fmt.Fprintf(&b, ofctlHelpHead, p.name)
	for _, c := range flowCommands() {
		fmt.Fprintf(&b, "  %-34s %s\n", c.name+" "+c.args, c.usage)
	}
	b.WriteString(ofctlHelpTail)
	fmt.Fprint(p.stdout, b.String())
	return 0
}
