package main

import (
	"time"

	"github.com/urfave/cli/v2"
)

// Headings of the help.
const (
	loadOptions   = "Load"
	frameOptions  = "Frames"
	checkOptions  = "Checks"
	searchOptions = "Search for the highest rate"
	outputOptions = "Output"
)

func flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "rate", Aliases: []string{"r"}, Value: "max", Usage: "`RATE` of each port that sends: max, frames per second (1000, 20kpps, 1.5Mpps), bits per second (500Mbps, 10Gbps), or percent of the port's speed (50%)", Category: loadOptions},
		&cli.DurationFlag{Name: "duration", Aliases: []string{"d"}, Value: 10 * time.Second, Usage: "`TIME` of sending (10s, 1m30s)", Category: loadOptions},
		&cli.Uint64Flag{Name: "count", Aliases: []string{"n"}, Usage: "send `N` frames by each port, however long it takes", Category: loadOptions},
		&cli.BoolFlag{Name: "one-way", Usage: "only the first of two ports sends", DisableDefaultText: true, Category: loadOptions},
		&cli.BoolFlag{Name: "send-only", Usage: "the one port sends, and nothing is expected back", DisableDefaultText: true, Category: loadOptions},
		&cli.BoolFlag{Name: "receive-only", Usage: "the one port receives: frames are counted", DisableDefaultText: true, Category: loadOptions},
		&cli.BoolFlag{Name: "reflect", Usage: "the one port sends back what it receives", DisableDefaultText: true, Category: loadOptions},
		&cli.IntFlag{Name: "burst", Value: 1, Usage: "at a set rate, send `N` frames together, 1 to 32", Category: loadOptions},
		&cli.Uint64Flag{Name: "window", Usage: "let at most `N` frames of a port be under way; fewer than a ring holds are not lost when gvsgen is held up", DefaultText: "any number", Category: loadOptions},
		&cli.DurationFlag{Name: "warmup", Value: time.Second, Usage: "send for `TIME` before it counts, after frames that let a switch learn all addresses", Category: loadOptions},
		&cli.DurationFlag{Name: "drain", Value: 100 * time.Millisecond, Usage: "wait for late frames until none came for `TIME`", Category: loadOptions},
		&cli.StringFlag{Name: "cpus", Usage: "poll on these CPUs, one thread each (`LIST`: 1 or 2,3)", DefaultText: "one thread, anywhere", Category: loadOptions},
		&cli.DurationFlag{Name: "wait", Value: 10 * time.Second, Usage: "wait for the ports' links for `TIME` at most", Category: loadOptions},

		&cli.StringFlag{Name: "size", Aliases: []string{"s"}, Value: "64", Usage: "`BYTES` of frames: 64, 64-1518 (all of these), imix, or a mix by weights (64:7,594:4,1518:1)", Category: frameOptions},
		&cli.IntFlag{Name: "flows", Value: 1, Usage: "number `N` of different flows", Category: frameOptions},
		&cli.StringFlag{Name: "vary", Value: "src-port,src-ip,dst-ip", Usage: "`FIELDS` in which flows differ: src-ip, dst-ip, src-port, dst-port", Category: frameOptions},
		&cli.StringFlag{Name: "order", Value: "shuffled", Usage: "`ORDER` of the flows: shuffled or sequential", Category: frameOptions},
		&cli.StringFlag{Name: "proto", Value: "udp", Usage: "`PROTOCOL`: udp or tcp", Category: frameOptions},
		&cli.BoolFlag{Name: "ipv6", Aliases: []string{"6"}, Usage: "IPv6 in place of IPv4", DisableDefaultText: true, Category: frameOptions},
		&cli.StringFlag{Name: "src-mac", Usage: "`MAC` address of the first port", DefaultText: "the port's own, or 02:00:00:01:00:00", Category: frameOptions},
		&cli.StringFlag{Name: "dst-mac", Usage: "`MAC` address of the second port", DefaultText: "the port's own, or 02:00:00:02:00:00", Category: frameOptions},
		&cli.IntFlag{Name: "macs", Value: 1, Usage: "spread the flows over `N` pairs of addresses, counting up from those", Category: frameOptions},
		&cli.StringFlag{Name: "src-ip", Usage: "`ADDRESS` of the first port", DefaultText: "10.1.0.1 or fd00:1::1", Category: frameOptions},
		&cli.StringFlag{Name: "dst-ip", Usage: "`ADDRESS` of the second port", DefaultText: "10.2.0.1 or fd00:2::1", Category: frameOptions},
		&cli.IntFlag{Name: "src-port", Value: 1024, Usage: "`PORT` of the first port's TCP or UDP", Category: frameOptions},
		&cli.IntFlag{Name: "dst-port", Value: 5001, Usage: "`PORT` of the second port's TCP or UDP", Category: frameOptions},
		&cli.StringFlag{Name: "vlan", Usage: "`TAGS`, outermost first, as [TPID:]VID[-VID][/PCP]: 10, 100,200 (802.1ad outside), 0x8100:100-199/3", DefaultText: "none", Category: frameOptions},
		&cli.StringFlag{Name: "checksum", Value: "full", Usage: "TCP or UDP checksum: full, partial (left to the receiver) or none (`KIND`)", Category: frameOptions},
		&cli.StringFlag{Name: "replay", Usage: "send the frames of capture `FILE` over and over (pcap or pcapng); FILE,FILE for two ports", Category: frameOptions},

		&cli.StringFlag{Name: "check", Value: "full", Usage: "look at each frame's order and contents (full), order only (seq), or only count (none): `WHAT`", Category: checkOptions},
		&cli.StringFlag{Name: "expect-loss", Usage: "fail if more is lost: `N` frames or a percentage (0, 0.05%)", Category: checkOptions},
		&cli.StringFlag{Name: "expect-rate", Usage: "fail if less than `RATE` is received by a port, see --rate", Category: checkOptions},
		&cli.StringFlag{Name: "allow", Usage: "do not fail for these (`LIST`): duplicate, reordered, corrupt", Category: checkOptions},

		&cli.StringFlag{Name: "search", Usage: "look for the highest rate with at most this `LOSS`, frames or a percentage, by trials of --duration (RFC 2544)", Category: searchOptions},
		&cli.StringFlag{Name: "min-rate", Usage: "try no rate below `RATE`", Category: searchOptions},
		&cli.StringFlag{Name: "max-rate", Usage: "try no rate above `RATE`", DefaultText: "what the ports take", Category: searchOptions},
		&cli.StringFlag{Name: "resolution", Value: "1%", Usage: "end when the rate is known to `PERCENT` of the highest", Category: searchOptions},

		&cli.BoolFlag{Name: "json", Usage: "print the result as JSON", DisableDefaultText: true, Category: outputOptions},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "no progress", DisableDefaultText: true, Category: outputOptions},
		&cli.BoolFlag{Name: "verbose", Usage: "print what the ports log, such as a virtio-user port's features and paths", DisableDefaultText: true, Category: outputOptions},
		&cli.DurationFlag{Name: "interval", Aliases: []string{"i"}, Value: time.Second, Usage: "print progress each `TIME`", Category: outputOptions},
	}
}
