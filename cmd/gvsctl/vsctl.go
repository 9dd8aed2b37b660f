package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/internal/version"
	"github.com/gvswitch/gvswitch/internal/vsctl"
)

// Exit statuses beside 0, 1 and ovs-appctl's.
const (
	statusNotApplied = 65  // EX_DATAERR of sysexits(3), by newer ovs-vsctl, for what the switch could not set up
	statusTimeout    = 142 // what a shell shows for a death by SIGALRM, which is how ovs-vsctl ends
)

// exitError carries an exit status through the CLI framework. A nil err was reported before.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string { return fmt.Sprint(e.err) }

// vsctl is gvsctl and ovs-vsctl.
func (p *program) vsctl() int {
	var line parsed
	app := p.app(func(c *cli.Context) error { return p.act(c, line) })
	if n := len(p.args); n > 0 && p.args[n-1] == completionFlag {
		p.completeArgs(app, p.args[:n-1])
		return 0
	}
	line, err := getopt(p.args, p.options(app.Flags))
	if err != nil {
		return p.fail(1, "%v", err)
	}
	words := append([]string{p.name}, line.globals...)
	words = append(append(words, "--"), line.rest...)
	err = app.Run(words)
	var exit *exitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		return p.fail(1, "%v", err)
	case exit.err != nil:
		return p.fail(exit.status, "%v", exit.err)
	default:
		return exit.status
	}
}

// errNotApplied ends the wait for the switch when the time is up.
var errNotApplied = errors.New("the change is in the database, but the switch has not applied it (is it running? --no-wait does not wait for it)")

// settings are the options that are not a command's.
type settings struct {
	runDir, db string
	timeout    time.Duration
	retry      bool
	vsctl      vsctl.Options
}

// settings reads them.
func (p *program) settings(c *cli.Context) (*settings, error) {
	s := &settings{runDir: p.runDir(), db: c.String("db"), retry: c.Bool("retry")}
	if d := c.String("run-dir"); d != "" {
		s.runDir = d
	}
	if s.db == "" {
		s.db = "unix:" + filepath.Join(s.runDir, "db.sock")
	}
	if text := c.String("timeout"); text != "" {
		secs, err := strconv.ParseUint(text, 10, 31)
		if err != nil || (secs == 0 && p.compat()) {
			return nil, fmt.Errorf("value %s on -t or --timeout is invalid", text)
		}
		s.timeout = time.Duration(secs) * time.Second
	}
	o := vsctl.Options{
		Compat: p.compat(), NoWait: c.Bool("no-wait"), DryRun: c.Bool("dry-run"), Oneline: c.Bool("oneline"),
		Style: vsctl.Style{
			Format: c.String("format"), Data: c.String("data"), NoHeadings: c.Bool("no-headings"), Pretty: c.Bool("pretty"),
		},
		Program: p.name, Args: p.args,
		Warn: func(text string) { p.fail(0, "%s", text) },
	}
	if c.Bool("bare") {
		o.Style.Format, o.Style.Data, o.Style.NoHeadings = "list", "bare", true
	}
	if text := c.String("max-column-width"); text != "" {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("--max-column-width: %q is not a number", text)
		}
		o.Style.MaxColumnWidth = int(n)
	}
	s.vsctl = o
	return s, o.Style.Check()
}

// act is the whole program after the options.
func (p *program) act(c *cli.Context, line parsed) error {
	if c.Bool("version") {
		fmt.Fprintln(p.stdout, version.Line(p.name))
		return nil
	}
	if c.Bool("help") {
		return cli.ShowAppHelp(c)
	}
	s, err := p.settings(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.Context)
	if s.timeout > 0 {
		ctx, cancel = context.WithTimeout(c.Context, s.timeout)
	}
	defer cancel()
	if !p.compat() && len(line.rest) > 0 {
		if done, err := p.own(ctx, c, s, line); done {
			return err
		}
	}
	commands, err := vsctl.Parse(line.rest, line.locals)
	if err != nil {
		return err
	}
	return p.timed(p.database(ctx, s, commands), s)
}

// timed puts the end of the time that --timeout allows into words.
func (p *program) timed(err error, s *settings) error {
	switch {
	case errors.Is(err, errNotApplied):
	case errors.Is(err, context.DeadlineExceeded):
		err = errors.New("no answer from the database, or wait-until was not fulfilled")
	default:
		return err
	}
	status := 1
	if p.compat() {
		status = statusTimeout
	}
	return &exitError{status, fmt.Errorf("timed out after %v: %w", s.timeout, err)}
}

// own carries out the commands that ovs-vsctl does not have. done is false if it is none of them.
func (p *program) own(ctx context.Context, c *cli.Context, s *settings, line parsed) (done bool, err error) {
	name, args := line.rest[0], line.rest[1:]
	switch {
	case name == "help" && len(args) == 0:
		return true, cli.ShowAppHelp(c)
	case name == "help":
		return true, p.commandHelp(c, args[0])
	case len(args) > 0 && args[0] == "--help":
		return true, p.commandHelp(c, name)
	case isFlowCommand(name) && name != "dump-ports":
		return true, p.ownFlow(ctx, s, line)
	case name == "explain":
		return true, p.explain(ctx, s, line)
	case name == "pcap":
		return true, p.pcap(ctx, s, args)
	case isRuntime(name):
		for _, o := range line.locals {
			if name != "dump-ports" || o.Name != "--names" {
				return true, fmt.Errorf("'%s' command has no '%s' option", name, o.Name)
			}
			args = append([]string{"--names"}, args...)
		}
		if status := p.runtime(ctx, "gvswitchd", control.Socket(s.runDir), s.vsctl.Style.Format == "json", name, args); status != 0 {
			return true, &exitError{status: status}
		}
		return true, nil
	case name == "import":
		command, err := importCommand(args)
		if err != nil {
			return true, err
		}
		return true, p.timed(p.database(ctx, s, []*vsctl.Command{command}), s)
	default:
		return false, nil
	}
}

// ownFlow carries out one of ovs-ofctl's commands; its options may stand before and after its name.
func (p *program) ownFlow(ctx context.Context, s *settings, line parsed) error {
	var given []string
	for _, o := range line.locals {
		word := o.Name
		if o.HasValue {
			word += "=" + o.Value
		}
		given = append(given, word)
	}
	after, operands, err := permute(line.rest[1:], append(slices.Clone(commonFlowOptions), option{name: "format", short: 'f', arg: needsArg}))
	if err != nil {
		return err
	}
	opt, err := readFlowOptions(append(given, after...))
	if err != nil {
		return err
	}
	opt.json = opt.json || s.vsctl.Style.Format == "json"
	status := p.flow(ctx, opt, line.rest[0], operands, func() (string, error) { return control.Socket(s.runDir), nil })
	if status != 0 {
		return &exitError{status: status}
	}
	return nil
}

// commandHelp prints how one command is used.
func (p *program) commandHelp(c *cli.Context, name string) error {
	i := slices.IndexFunc(c.App.Commands, func(c *cli.Command) bool { return c.Name == name })
	if i < 0 {
		return fmt.Errorf("unknown command '%s'; use --help for help", name)
	}
	command := c.App.Commands[i]
	_, err := fmt.Fprintf(p.stdout, "%s [OPTION]... %s\n\n%s\n", p.name, command.UsageText, command.Usage)
	return err
}

// database runs commands on the database and waits for the switch.
func (p *program) database(ctx context.Context, s *settings, commands []*vsctl.Command) error {
	db, err := p.dial(ctx, s, s.retry)
	if err != nil {
		return err
	}
	defer func() { db.Close() }()
	result, err := vsctl.NewSession(db, s.vsctl, commands).Run(ctx)
	if err != nil {
		return err
	}
	if _, err := p.stdout.Write(result.Output); err != nil {
		return err
	}
	if result.Status != 0 {
		return &exitError{status: result.Status}
	}
	for {
		err = vsctl.WaitApplied(ctx, db, &s.vsctl, result)
		var lost *vsctl.ConnError
		if !errors.As(err, &lost) {
			break
		}
		// The change is committed, so it is worth to wait for a database that is restarted, as ovs-vsctl does.
		db.Close()
		if db, err = p.dial(ctx, s, true); err != nil {
			break
		}
		if err = db.Monitor(ctx, vsctl.AppliedColumns(&s.vsctl)); err != nil {
			break
		}
	}
	return p.applied(ctx, err, result)
}

// applied reports what became of the wait for the switch.
func (p *program) applied(ctx context.Context, err error, result *vsctl.Result) error {
	var failed *vsctl.NotAppliedError
	switch {
	case errors.As(err, &failed):
		for _, l := range failed.Lines {
			p.fail(0, "%s", l)
		}
		if p.compat() {
			return &exitError{status: statusNotApplied}
		}
		return &exitError{status: 1}
	case err != nil && ctx.Err() != nil:
		return errNotApplied
	default:
		return err
	}
}

// dial connects to the database; with retry, as often as it takes.
func (p *program) dial(ctx context.Context, s *settings, retry bool) (*vsctl.Conn, error) {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		db, err := vsctl.Dial(ctx, s.db)
		var failed *vsctl.ConnError
		if err == nil || !retry || !errors.As(err, &failed) {
			if errors.As(err, &failed) && errors.Is(err, os.ErrNotExist) && !p.compat() && strings.HasPrefix(s.db, "unix:") {
				err = fmt.Errorf("%w; %s", err, isItRunning)
			}
			return db, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
