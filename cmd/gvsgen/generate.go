package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/gvswitch/gvswitch/internal/gen"
)

// report is the JSON form of what came out. Its names stay.
type report struct {
	*gen.Result
	Search *gen.SearchResult `json:"search,omitempty"`
	Failed []string          `json:"failed"` // in words, what was not as expected
}

// generate is what the program does.
func generate(c *cli.Context) (err error) {
	for _, arg := range c.Args().Slice() {
		if strings.HasPrefix(arg, "-") {
			return fmt.Errorf("%s: stands behind a port; options come before the ports", arg)
		}
	}
	s, err := parse(c)
	if err != nil {
		return err
	}
	level := slog.LevelWarn
	if c.Bool("verbose") {
		level = slog.LevelDebug
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(c.App.ErrWriter, &slog.HandlerOptions{Level: level})))
	ports, all, err := openPorts(c.Args().Slice(), s.longest())
	if err != nil {
		return err
	}
	defer func() {
		if e := ports.Close(); err == nil {
			err = e
		}
	}()
	if err := ports.Wait(c.Context, s.wait); err != nil {
		return err
	}
	s.assign(all)
	b, err := gen.NewBench(ports, s.config)
	if err != nil {
		return err
	}
	r, err := s.measure(c.Context, b, all, &printer{err: c.App.ErrWriter, s: s})
	if err != nil {
		return err
	}
	if s.json {
		e := json.NewEncoder(c.App.Writer)
		e.SetIndent("", "  ")
		err = e.Encode(r)
	} else {
		printReport(c.App.Writer, r)
	}
	if err == nil && len(r.Failed) > 0 {
		err = errFailed
	}
	return err
}

// measure runs the trials.
func (s *settings) measure(ctx context.Context, b *gen.Bench, ports []*gen.Port, out *printer) (*report, error) {
	pps := func(option string, r rate) (float64, error) {
		if s.passive {
			return 0, nil
		}
		return r.pps(option, ports[0].Dev.Info().Speed, b.MeanSize(0), ports[0].Name)
	}
	t := s.trial
	t.Progress = out.progress
	var err error
	if t.Rate, err = pps("rate", s.rate); err != nil {
		return nil, err
	}
	least, err := pps("expect-rate", s.least)
	if err != nil {
		return nil, err
	}
	if err := s.warm(ctx, b, t); err != nil {
		return nil, err
	}
	if s.search != nil {
		return s.find(ctx, b, t, pps, out)
	}
	result, err := b.Run(ctx, t)
	if err != nil && !errors.Is(err, context.Canceled) { // who interrupts it wants to know what was until then
		return nil, err
	}
	return &report{Result: &result, Failed: s.failures(&result, least)}, nil
}

// warm lets the switch learn and get warm.
func (s *settings) warm(ctx context.Context, b *gen.Bench, t gen.Trial) error {
	if s.passive {
		return nil
	}
	if err := b.Learn(ctx); err != nil {
		return err
	}
	if s.warmup == 0 {
		return nil
	}
	t.Duration, t.Count, t.Progress = s.warmup, 0, nil
	_, err := b.Run(ctx, t)
	return err
}

func (s *settings) find(ctx context.Context, b *gen.Bench, t gen.Trial, pps func(string, rate) (float64, error), out *printer) (*report, error) {
	low, err := pps("min-rate", s.lowest)
	if err != nil {
		return nil, err
	}
	high, err := pps("max-rate", s.highest)
	if err != nil {
		return nil, err
	}
	if high > 0 && low >= high {
		return nil, refuse("min-rate", s.lowestText, "must be less than --max-rate %s", s.highestText)
	}
	t.Progress = nil
	r, err := b.Search(ctx, gen.SearchConfig{Allowed: *s.search, Trial: t, Low: low, High: high, Resolution: s.resolution, Report: out.step})
	if err != nil {
		return nil, err
	}
	rep := &report{Result: r.Best, Search: &r, Failed: []string{}}
	if r.Rate == 0 {
		rep.Failed = append(rep.Failed, "no rate passed")
	}
	return rep, nil
}

// failures says what in a trial was not as expected.
func (s *settings) failures(r *gen.Result, least float64) []string {
	failed := []string{}
	fail := func(format string, args ...any) { failed = append(failed, fmt.Sprintf(format, args...)) }
	t := &r.Total
	if !s.sendOnly && t.Received == 0 {
		fail("nothing arrived")
	}
	if s.sendOnly && t.Sent == 0 {
		fail("nothing was sent")
	}
	if missed, of := r.Missed(); s.loss != nil && !s.loss.Allows(missed, of) {
		fail("%d of %d frames did not arrive, more than %s", missed, of, s.loss)
	}
	for _, c := range []struct {
		what string
		n    uint64
	}{{"duplicate", t.Duplicate + t.TooLate}, {"reordered", t.Reordered}, {"corrupt", t.Corrupt}} {
		if c.n > 0 && !s.allow[c.what] {
			fail("%d frames were %s", c.n, c.what)
		}
	}
	if least > 0 {
		for i := range r.Ports {
			if p := &r.Ports[i]; p.ReceivedPPS < least && (p.Received > 0 || len(r.Ports) == 1) {
				fail("port %s received %s, less than %s", p.Name, frames(p.ReceivedPPS), frames(least))
			}
		}
	}
	return failed
}

// printer writes what is shown while it works.
type printer struct {
	err  io.Writer
	s    *settings
	last gen.Snapshot
}
