package main

import (
	"strings"
)

func addFlow(c *flowCall) error {
	if c.args[1] == "-" {
		return addFlows(c)
	}
	return c.changeFlows("add", c.args[1], "")
}

func addFlows(c *flowCall) error {
	text, err := readInput(c.args[1])
	if err != nil {
		return err
	}
	return c.changeFlows("any", text, inputName(c.args[1]))
}

func modFlows(c *flowCall) error {
	if c.opt.strict {
		return c.changeMatching("modify_strict")
	}
	return c.changeMatching("modify")
}

func delFlows(c *flowCall) error {
	if c.opt.strict {
		return c.changeMatching("delete_strict")
	}
	return c.changeMatching("delete")
}

// changeMatching sends a change with one flow, or with those on standard input.
func (c *flowCall) changeMatching(change string) error {
	if c.arg(1) != "-" {
		return c.changeFlows(change, c.arg(1), "")
	}
	text, err := readInput("-")
	if err != nil {
		return err
	}
	return c.changeFlows(change, text, inputName("-"))
}

// changeFlows sends flows to be added, changed or deleted. With a source, the text is a file's with any number of them.
func (c *flowCall) changeFlows(change, text, source string) error {
	args := []string{}
	if c.opt.bundle {
		args = append(args, "--bundle")
	}
	if source != "" {
		args = append(args, "--source="+source)
	}
	return c.send(text, "ofctl/change-flows", append(args, c.bridge(), change)...)
}

func replaceFlows(c *flowCall) error {
	text, err := readInput(c.args[1])
	if err != nil {
		return err
	}
	args := []string{"--source=" + inputName(c.args[1])}
	if c.opt.readd {
		args = append(args, "--readd")
	}
	return c.send(text, "ofctl/replace-flows", append(args, c.bridge())...)
}

func dumpFlows(c *flowCall) error {
	names := c.names()
	args := append(names, c.opt.sort...)
	if c.opt.stats == no {
		args = append(args, "--no-stats")
	}
	// As in ovs-ofctl, the reply is printed as it comes unless something is to be done with it.
	heading := ""
	if len(args) == 0 {
		heading = c.heading("FLOW", true, 0) + "\n"
		if c.opt.openflow == 0 {
			args = append(args, "--ages")
		}
	}
	return c.show(heading, "ofctl/dump-flows", append(args, c.bridge(), c.arg(1))...)
}

func dumpAggregate(c *flowCall) error {
	return c.show(c.heading("AGGREGATE", true, 0)+" ", "ofctl/dump-aggregate", c.bridge(), c.arg(1))
}

func dumpTables(c *flowCall) error {
	return c.show(c.heading("TABLE", false, 0)+"\n", "ofctl/dump-tables", append(c.names(), c.bridge())...)
}

// dumpPorts leaves out what ovs-ofctl does not print, when it is to be ovs-ofctl.
func dumpPorts(c *flowCall) error {
	args := append(c.names(), c.bridge())
	if len(c.args) > 1 {
		args = append(args, c.args[1])
	}
	if c.opt.json {
		return c.show("", "dump-ports", args...)
	}
	text, err := c.ask("dump-ports", args...)
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, " drops by reason:") {
			continue
		}
		if err := c.print(line); err != nil {
			return err
		}
	}
	return nil
}

func dumpPortsDesc(c *flowCall) error {
	return c.show(c.heading("PORT_DESC", false, 0)+"\n", "ofctl/dump-ports-desc", c.bridge(), c.arg(1))
}

func dumpDesc(c *flowCall) error {
	return c.show(c.heading("DESC", false, 0)+"\n", "ofctl/dump-desc", c.bridge())
}

func showSwitch(c *flowCall) error { return c.show("", "ofctl/show", c.bridge()) }

func modPort(c *flowCall) error {
	return c.show("", "ofctl/mod-port", c.bridge(), c.args[1], c.args[2])
}

func probe(c *flowCall) error {
	_, err := c.ask("ofctl/show", c.bridge())
	return err
}

func getFrags(c *flowCall) error {
	if err := probe(c); err != nil {
		return err
	}
	return c.print("normal\n")
}

func setFrags(c *flowCall) error {
	if err := probe(c); err != nil {
		return err
	}
	return checkFrags(c.args[1])
}

// packetOut has two forms: in_port=PORT,packet=HEX,actions=ACTIONS in one word, or the older one of port, actions and packets.
func packetOut(c *flowCall) error {
	if len(c.args) == 2 {
		return c.show("", "ofctl/packet-out", c.bridge(), c.args[1])
	}
	if len(c.args) < 4 {
		return errPacketOut
	}
	for _, packet := range c.args[3:] {
		if err := c.show("", "ofctl/packet-out", c.bridge(), "in_port="+c.args[1]+",packet="+packet+",actions="+c.args[2]); err != nil {
			return err
		}
	}
	return nil
}
