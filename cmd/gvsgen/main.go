// Command gvsgen sends traffic through ports and says what became of it: rates, loss, order, duplication, corruption, latency. It looks for the
// highest rate without loss, and checks what it is told to expect.
//
// It is wiring: internal/gen generates and checks, the packages below netdev are the ports.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/gvswitch/gvswitch/internal/version"
)

//go:generate sh -c "go run . man > ../../docs/man/gvsgen.8"

// Exit statuses.
const (
	exitError  = 1
	exitFailed = 2 // a check failed
)

// errFailed says that a check failed; which one has been told.
var errFailed = errors.New("a check failed")

func main() { os.Exit(run(os.Args, os.Stdout, os.Stderr)) }

// memoryLimit is when garbage is collected at all: a collection would hold up the workers.
const memoryLimit = 2 << 30

func run(args []string, stdout, stderr io.Writer) int {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryLimit)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := app(stdout, stderr).RunContext(ctx, args)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errFailed):
		return exitFailed
	default:
		fmt.Fprintln(stderr, "gvsgen:", err)
		return exitError
	}
}

func app(stdout, stderr io.Writer) *cli.App {
	return &cli.App{
		Name:            "gvsgen",
		Usage:           "generate traffic, take it back and say what became of it",
		UsageText:       "gvsgen [OPTION]... PORT [PORT]",
		Description:     description,
		Version:         version.String(),
		HideHelpCommand: true,
		Flags:           flags(),
		Commands:        []*cli.Command{{Name: "man", Hidden: true, Action: man}},
		Action:          generate,
		Writer:          stdout,
		ErrWriter:       stderr,
		ExitErrHandler:  func(*cli.Context, error) {},
		OnUsageError: func(_ *cli.Context, err error, _ bool) error {
			if m := noUnit.FindStringSubmatch(err.Error()); m != nil {
				return refuse(m[2], m[1], "a time needs a unit, as %ss or %sms", m[1], m[1])
			}
			return fmt.Errorf("%w (--help shows the options)", err)
		},
	}
}

// noUnit is what the flag package says of a time that is a bare number.
var noUnit = regexp.MustCompile(`^invalid value "([0-9.]+)" for flag -([a-z-]+): parse error$`)

func init() {
	cli.VersionPrinter = func(c *cli.Context) { fmt.Fprintln(c.App.Writer, version.Line("gvsgen")) }
}

// man prints the manual page for "make install" and docs/man.
func man(c *cli.Context) error {
	page, err := c.App.ToManWithSection(8)
	if err == nil {
		_, err = fmt.Fprint(c.App.Writer, page)
	}
	return err
}

const description = `A PORT is TYPE:[NAME][,OPTION=VALUE]... with the types and options of the switch's ports: virtio-user (a vhost-user socket's driver side),
dpdkvhostuser and dpdkvhostuserclient (its device side), tap, system (a device of the kernel), veth. With two ports, each sends what the other
receives; a single port sends to itself, by way of what loops it back.

    gvsgen --rate 1Mpps virtio-user:path=/run/gvswitch/vu0 virtio-user:path=/run/gvswitch/vu1
    gvsgen --size imix --flows 10000 --search 0.05% virtio-user:path=/run/a.sock virtio-user:path=/run/b.sock
    gvsgen --one-way --count 1000 --expect-loss 0 --json system:eth0 tap:t0

Sizes and bits are those of frames without CRC. Every frame carries a sequence number, its flow's number, a time and a check, so that loss, duplication,
reordering and corruption are found out exactly.

The exit status is 0, 1 for an error, 2 if something was not as expected: frames came twice, out of order or changed, none came, or more were lost than
--expect-loss allows.`
