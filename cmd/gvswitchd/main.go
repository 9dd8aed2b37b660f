// Command gvswitchd is the switch: it serves the configuration database, forwards packets and answers commands. It stays in the foreground;
// a service manager (see the unit file) or the shell puts it into the background.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	sd "github.com/coreos/go-systemd/v22/daemon"
	"github.com/urfave/cli/v2"

	"github.com/gvswitch/gvswitch/internal/daemon"
	"github.com/gvswitch/gvswitch/internal/daemon/logging"
	"github.com/gvswitch/gvswitch/internal/pager"
	"github.com/gvswitch/gvswitch/internal/version"
)

func main() {
	pager.Main()
	if err := app().Run(arguments(os.Args)); err != nil {
		fmt.Fprintln(os.Stderr, "gvswitchd:", err)
		os.Exit(1)
	}
}

func app() *cli.App {
	return &cli.App{
		Name:  "gvswitchd",
		Usage: "userspace software switch",
		Description: "Serves its configuration database on RUN/db.sock and runtime commands on RUN/gvswitchd.ctl, for gvsctl, ovs-vsctl and\n" +
			"ovs-appctl. It stays in the foreground. SIGTERM ends it cleanly, SIGHUP reopens the log file.",
		Version:         version.Get().Version,
		HideHelpCommand: true,
		UsageText:       "gvswitchd [flags]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "run-dir", Value: "/run/gvswitch", Usage: "`DIR` for sockets and pid files"},
			&cli.StringFlag{Name: "state-dir", Value: "/var/lib/gvswitch", Usage: "`DIR` of the configuration database"},
			&cli.StringFlag{Name: "db", Usage: "use the database at `ADDRESS` (unix:PATH, tcp:HOST:PORT) in place of the embedded one"},
			&cli.StringFlag{Name: "pidfile", Usage: "also write the process id to `FILE` (--pidfile alone: RUN/gvswitchd.pid, which is always written)"},
			&cli.StringFlag{Name: "log-level", Value: "info", Usage: "`LEVEL` off, emer, err, warn, info or dbg; \"vlog/set\" changes it later"},
			&cli.StringFlag{Name: "log-format", Value: "text", Usage: "`FORMAT` text or json"},
			&cli.StringFlag{Name: "log-file", Usage: "log to `FILE` in place of standard error"},
		},
		Commands: []*cli.Command{{Name: "man", Usage: "print the manual page", Hidden: true, Action: man}},
		Action:   run,
		OnUsageError: func(_ *cli.Context, err error, _ bool) error {
			return fmt.Errorf("%w (--help shows the flags)", err)
		},
	}
}

func init() {
	cli.VersionPrinter = func(c *cli.Context) { fmt.Fprintln(c.App.Writer, version.Line("gvswitchd")) }
}

// man prints the manual page for "make install".
func man(c *cli.Context) error {
	page, err := c.App.ToManWithSection(8)
	if err == nil {
		_, err = fmt.Fprint(c.App.Writer, page)
	}
	return err
}

// arguments gives --pidfile, whose value may be left out as in Open vSwitch's daemons, an empty value.
func arguments(args []string) []string {
	out := make([]string, 0, len(args))
	for i, a := range args {
		bare := a == "--pidfile" || a == "-pidfile"
		if bare && (i+1 == len(args) || strings.HasPrefix(args[i+1], "-")) {
			a += "="
		}
		out = append(out, a)
	}
	return out
}

func run(c *cli.Context) error {
	if c.Args().Present() {
		return fmt.Errorf("unexpected argument %q", c.Args().First())
	}
	log, err := logging.New(logging.Config{Level: c.String("log-level"), Format: c.String("log-format"), File: c.String("log-file")})
	if err != nil {
		return err
	}
	defer log.Close()
	slog.SetDefault(log.Default())
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	context.AfterFunc(ctx, stop)   // a second signal ends the process at once
	signal.Ignore(syscall.SIGPIPE) // whoever read the log may go away
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	go reopen(ctx, hup, log)
	return daemon.Run(ctx, daemon.Config{
		RunDir: c.String("run-dir"), StateDir: c.String("state-dir"), DB: c.String("db"), PIDFile: c.String("pidfile"), Log: log,
		Ready:    func() { notify(sd.SdNotifyReady) },
		Stopping: func() { notify(sd.SdNotifyStopping) },
	})
}

// reopen opens the log file anew at each SIGHUP.
func reopen(ctx context.Context, hup <-chan os.Signal, log *logging.Log) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			if err := log.Reopen(); err != nil {
				log.Module("daemon").Error("log file not reopened", "error", err)
			}
		}
	}
}

// notify tells systemd, if it is there and listens.
func notify(state string) { _, _ = sd.SdNotify(false, state) }
