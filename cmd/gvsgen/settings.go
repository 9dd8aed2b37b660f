package main

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gvswitch/gvswitch/internal/gen"
)

// settings is what the options say, but for what depends on the ports.
type settings struct {
	traffic gen.Traffic // without addresses that are the ports' own
	replay  []*gen.Capture
	config  gen.Config
	trial   gen.Trial
	warmup  time.Duration
	wait    time.Duration

	rate, least, lowest, highest rate
	lowestText, highestText      string
	search, loss                 *gen.Loss
	resolution                   float64
	allow                        map[string]bool

	oneWay, sendOnly, receiveOnly, reflect bool
	passive                                bool // no port sends of itself
	json, quiet                            bool
}

// parse reads the options.
func parse(c *cli.Context) (*settings, error) {
	s := &settings{
		warmup: c.Duration("warmup"), wait: c.Duration("wait"),
		oneWay: c.Bool("one-way"), sendOnly: c.Bool("send-only"), receiveOnly: c.Bool("receive-only"), reflect: c.Bool("reflect"),
		json: c.Bool("json"), quiet: c.Bool("quiet"),
		trial: gen.Trial{Duration: c.Duration("duration"), Count: c.Uint64("count"), Drain: c.Duration("drain"), Interval: c.Duration("interval")},
	}
	for _, step := range []func(*cli.Context) error{s.load, s.frames, s.checks, s.searching, s.ways} {
		if err := step(c); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *settings) load(c *cli.Context) (err error) {
	if s.rate, err = parseRate("rate", c.String("rate")); err != nil {
		return err
	}
	if s.config.CPUs, err = parseCPUs(c.String("cpus")); err != nil {
		return err
	}
	for _, name := range []string{"duration", "drain", "interval"} {
		if d := c.Duration(name); d <= 0 {
			return refuse(name, d.String(), "must be more than 0")
		}
	}
	if s.warmup < 0 {
		return refuse("warmup", s.warmup.String(), "must not be less than 0")
	}
	if s.trial.Count > 0 && !c.IsSet("duration") {
		s.trial.Duration = 0
	}
	s.config.Burst, s.config.Window = c.Int("burst"), c.Uint64("window")
	if s.config.Burst < 1 || s.config.Burst > 32 {
		return refuse("burst", c.String("burst"), "must be a number from 1 to 32")
	}
	return nil
}

func (s *settings) frames(c *cli.Context) (err error) {
	t := &s.traffic
	t.Flows, t.MACs, t.V6 = c.Int("flows"), c.Int("macs"), c.Bool("ipv6")
	if t.Sizes, err = gen.ParseSizes(c.String("size")); err != nil {
		return err
	}
	if t.Vary, err = parseVary(c.String("vary")); err != nil {
		return err
	}
	if t.Sequential, err = choice("order", c.String("order"), []string{"shuffled", "sequential"}, false, true); err != nil {
		return err
	}
	if t.TCP, err = choice("proto", c.String("proto"), []string{"udp", "tcp"}, false, true); err != nil {
		return err
	}
	if t.Tags, err = parseTags(c.String("vlan")); err != nil {
		return err
	}
	if t.Checksum, err = choice("checksum", c.String("checksum"), []string{"full", "partial", "none"}, gen.ChecksumFull, gen.ChecksumPartial, gen.ChecksumNone); err != nil {
		return err
	}
	src, dst := "10.1.0.1", "10.2.0.1"
	if t.V6 {
		src, dst = "fd00:1::1", "fd00:2::1"
	}
	if t.Src, err = parseIP("src-ip", given(c, "src-ip", src), t.V6); err != nil {
		return err
	}
	if t.Dst, err = parseIP("dst-ip", given(c, "dst-ip", dst), t.V6); err != nil {
		return err
	}
	if t.SrcPort, err = parsePortNumber("src-port", c.Int("src-port")); err != nil {
		return err
	}
	if t.DstPort, err = parsePortNumber("dst-port", c.Int("dst-port")); err != nil {
		return err
	}
	if m := c.String("src-mac"); m != "" {
		if t.SrcMAC, err = parseMAC("src-mac", m); err != nil {
			return err
		}
	}
	if m := c.String("dst-mac"); m != "" {
		if t.DstMAC, err = parseMAC("dst-mac", m); err != nil {
			return err
		}
	}
	return s.captures(c.String("replay"))
}

// given is an option's value, or def if it has none.
func given(c *cli.Context, name, def string) string {
	if v := c.String(name); v != "" {
		return v
	}
	return def
}

func (s *settings) captures(files string) error {
	if files == "" {
		return nil
	}
	for path := range strings.SplitSeq(files, ",") {
		c, err := gen.ReadCapture(path)
		if err != nil {
			return err
		}
		s.replay = append(s.replay, c)
	}
	return nil
}

func (s *settings) checks(c *cli.Context) (err error) {
	t := &s.traffic
	if t.Check, err = choice("check", c.String("check"), []string{"full", "seq", "none"}, gen.CheckFull, gen.CheckSeq, gen.CheckNone); err != nil {
		return err
	}
	if s.replay != nil {
		if c.IsSet("check") && t.Check != gen.CheckNone {
			return refuse("check", c.String("check"), "frames of a capture can only be counted")
		}
		t.Check = gen.CheckNone
	}
	s.config.Check = t.Check
	if text := c.String("expect-loss"); text != "" {
		l, err := gen.ParseLoss("expect-loss", text)
		if err != nil {
			return err
		}
		s.loss = &l
	}
	if text := c.String("expect-rate"); text != "" {
		if s.least, err = parseRate("expect-rate", text); err != nil {
			return err
		}
	}
	s.allow = map[string]bool{}
	if text := c.String("allow"); text != "" {
		for word := range strings.SplitSeq(text, ",") {
			if _, err := choice("allow", word, []string{"duplicate", "reordered", "corrupt"}, 0, 0, 0); err != nil {
				return err
			}
			s.allow[word] = true
		}
	}
	return nil
}

func (s *settings) searching(c *cli.Context) (err error) {
	text := c.String("search")
	if text == "" {
		for _, name := range []string{"min-rate", "max-rate", "resolution"} {
			if c.IsSet(name) {
				return refuse(name, c.String(name), "only with --search")
			}
		}
		return nil
	}
	l, err := gen.ParseLoss("search", text)
	if err != nil {
		return err
	}
	s.search = &l
	for _, name := range []string{"rate", "count"} {
		if c.IsSet(name) {
			return refuse(name, c.String(name), "not with --search")
		}
	}
	s.lowestText, s.highestText = c.String("min-rate"), c.String("max-rate")
	for name, to := range map[string]*rate{"min-rate": &s.lowest, "max-rate": &s.highest} {
		if text := c.String(name); text != "" {
			if *to, err = parseRate(name, text); err != nil {
				return err
			}
		}
	}
	r, err := parseRate("resolution", c.String("resolution"))
	if err != nil || r.share == 0 {
		return refuse("resolution", c.String("resolution"), "must be a percentage as 1%%")
	}
	s.resolution = r.share
	return nil
}

// ways looks at which port sends what.
func (s *settings) ways(c *cli.Context) error {
	two := c.NArg() == 2
	alone := ""
	for _, name := range []string{"send-only", "receive-only", "reflect"} {
		switch {
		case !c.Bool(name):
		case two:
			return fmt.Errorf("--%s: is for one port, and there are two", name)
		case alone != "":
			return fmt.Errorf("--%s: not together with --%s", name, alone)
		default:
			alone = name
		}
	}
	s.passive = s.receiveOnly || s.reflect
	switch {
	case s.oneWay && !two:
		return fmt.Errorf("--one-way: needs two ports")
	case s.passive && s.replay != nil:
		return fmt.Errorf("--replay: not together with --%s", alone)
	case len(s.replay) > 2 || len(s.replay) == 2 && (!two || s.oneWay):
		return refuse("replay", c.String("replay"), "more files than ports that send")
	case alone != "" && s.search != nil:
		return refuse("search", c.String("search"), "not together with --%s: nothing that is sent comes back", alone)
	case alone != "" && s.loss != nil:
		return refuse("expect-loss", c.String("expect-loss"), "not together with --%s: nothing that is sent comes back", alone)
	}
	return nil
}

// longest is the length of the longest IP packet that is sent.
func (s *settings) longest() int {
	n := slices.Max(s.traffic.Sizes) - etherHeader - len(s.traffic.Tags)*vlanTag
	for _, c := range s.replay {
		n = max(n, c.Longest()-etherHeader)
	}
	return n
}

const (
	etherHeader = 14
	vlanTag     = 4
)

// assign says what each port sends; their own addresses are known now.
func (s *settings) assign(ports []*gen.Port) {
	if s.passive {
		s.config.Check, s.config.Reflect = gen.CheckNone, s.reflect
		return
	}
	s.config.SendOnly = s.sendOnly
	last := len(ports)
	if s.oneWay {
		last = 1
	}
	forth := s.traffic
	forth.SrcMAC = s.mac(forth.SrcMAC, ports, 0)
	forth.DstMAC = s.mac(forth.DstMAC, ports, 1)
	back := forth.Reverse()
	for i, t := range []*gen.Traffic{&forth, &back}[:last] {
		if s.replay != nil {
			s.config.Replay[i] = s.replay[min(i, len(s.replay)-1)]
		} else {
			s.config.Traffic[i] = t
		}
	}
}

// mac is the address of a port: as asked for, else its own, else one that nobody has.
func (s *settings) mac(asked net.HardwareAddr, ports []*gen.Port, i int) net.HardwareAddr {
	if asked != nil {
		return asked
	}
	if i < len(ports) {
		if a := ports[i].Dev.Info().MAC; len(a) == 6 {
			return a
		}
	}
	return net.HardwareAddr{2, 0, 0, byte(i + 1), 0, 0}
}
