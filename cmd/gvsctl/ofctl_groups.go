package main

// groupCommand changes groups: one that is an argument, all (del-groups), or those on standard input.
func groupCommand(change string) func(*flowCall) error {
	return func(c *flowCall) error {
		name := change
		if change == "modify" && c.opt.mayCreate {
			name = "add_or_mod"
		}
		if c.arg(1) != "-" {
			return c.changeGroups(name, c.arg(1), "")
		}
		text, err := readInput("-")
		if err != nil {
			return err
		}
		return c.changeGroups(name, text, inputName("-"))
	}
}

func groupFile(c *flowCall) error {
	text, err := readInput(c.arg(1))
	if err != nil {
		return err
	}
	return c.changeGroups("any", text, inputName(c.arg(1)))
}

// changeGroups sends groups. With a source, the text is a file's with any number of them.
func (c *flowCall) changeGroups(change, text, source string) error {
	args := []string{}
	if c.opt.bundle {
		args = append(args, "--bundle")
	}
	if source != "" {
		args = append(args, "--source="+source)
	}
	return c.send(text, "ofctl/change-groups", append(args, c.bridge(), change)...)
}

func dumpGroups(c *flowCall) error {
	return c.show(c.heading("GROUP_DESC", true, 0)+"\n", "ofctl/dump-groups", append(c.names(), c.bridge(), c.arg(1))...)
}

func dumpGroupStats(c *flowCall) error {
	return c.show(c.heading("GROUP", true, 0)+"\n", "ofctl/dump-group-stats", c.bridge(), c.arg(1))
}

func dumpGroupFeatures(c *flowCall) error {
	return c.show(c.heading("GROUP_FEATURES", true, 0)+"\n", "ofctl/dump-group-features", c.bridge())
}

// meterVersion is the version of OpenFlow that has meters: 1.3.
const meterVersion = 3

func meterCommand(change string) func(*flowCall) error {
	return func(c *flowCall) error {
		return c.show("", "ofctl/change-meter", c.bridge(), change, c.arg(1))
	}
}

func dumpMeters(c *flowCall) error {
	return c.show(c.heading("METER_CONFIG", false, meterVersion)+"\n", "ofctl/dump-meters", c.bridge(), c.arg(1))
}

func meterStats(c *flowCall) error {
	return c.show(c.heading("METER", false, meterVersion)+"\n", "ofctl/meter-stats", c.bridge(), c.arg(1))
}

func meterFeatures(c *flowCall) error {
	return c.show(c.heading("METER_FEATURES", false, meterVersion)+"\n", "ofctl/meter-features", c.bridge())
}
