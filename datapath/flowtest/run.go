package flowtest

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Difference is where a switch did not do as a case expects.
type Difference struct {
	File      string
	Line      int
	Case      string
	What      string
	Want, Got string
}

func (d Difference) String() string {
	return fmt.Sprintf("%s:%d: case %q: %s\n  expected %s\n  got      %s", d.File, d.Line, d.Case, d.What, d.Want, d.Got)
}

// Update is what the expectations of a step would have to be.
type Update struct {
	File        string
	First, Last int // the lines that Lines replace; Last < First: they go before First
	Lines       []string
}

// Result is what came of a case.
type Result struct {
	Differences []Difference
	Updates     []Update // of the steps with differences
}

type run struct {
	c *Case
	s Switch
	r Result
}

// Run runs the case. An error is about the switch: it could not be asked.
func (c *Case) Run(s Switch) (Result, error) {
	r := run{c: c, s: s}
	if err := s.Build(c.Bridges); err != nil {
		return r.r, fmt.Errorf("%s:%d: case %q: %w", c.File, c.Line, c.Name, err)
	}
	for i := 0; i < len(c.Steps); {
		step := &c.Steps[i]
		n, err := 1, error(nil)
		if step.Kind == KindCommand {
			n = r.commands(c.Steps[i:])
		} else {
			err = r.ask(step)
		}
		if err != nil {
			return r.r, fmt.Errorf("%s:%d: case %q: %w", c.File, step.Line, c.Name, err)
		}
		i += n
	}
	return r.r, nil
}

func (r *run) differ(line int, what, want, got string) {
	r.r.Differences = append(r.r.Differences, Difference{r.c.File, line, r.c.Name, what, want, got})
}

func (r *run) update(s *Step, lines []string) {
	r.r.Updates = append(r.r.Updates, Update{r.c.File, s.First, s.Last, lines})
}

// commands does the commands that steps begin with, those of one kind at once, and says how many
// they were.
func (r *run) commands(steps []Step) int {
	first := &steps[0]
	n := 1
	for n < len(steps) && !first.Refused && steps[n].Kind == KindCommand && !steps[n].Refused &&
		steps[n].Bridge == first.Bridge && steps[n].Command.Name == first.Command.Name && !steps[n].Command.Strict && !first.Command.Strict {
		n++
	}
	var list []Command
	for i := range n {
		list = append(list, steps[i].Command)
	}
	err := r.s.Commands(first.Bridge, list)
	what := first.Command.Name + " " + first.Command.Text
	if n > 1 {
		what += fmt.Sprintf(", and %d more", n-1)
	}
	switch {
	case err != nil && !first.Refused:
		r.differ(first.Line, what, "success", err.Error())
	case err == nil && first.Refused:
		r.differ(first.Line, what, "an error", "success")
	case err != nil && first.Because != "":
		if _, ours := r.s.(Explainer); ours && !strings.Contains(err.Error(), first.Because) {
			r.differ(first.Line, what, "an error with "+first.Because, err.Error())
		}
	}
	return n
}

func (r *run) ask(s *Step) error {
	switch s.Kind {
	case KindSend:
		return r.send(s)
	case KindFlows:
		got, err := r.s.Flows(s.Bridge, s.Filter)
		r.lines(s, "flows "+s.Filter, got)
		return err
	case KindMACs:
		got, err := r.s.MACs(s.Bridge)
		r.lines(s, "macs", got)
		return err
	case KindCount:
		packets, n, err := r.s.Count(s.Bridge, s.Filter)
		if err == nil && (s.Packets >= 0 && packets != s.Packets || s.Bytes >= 0 && n != s.Bytes) {
			r.differ(s.Line, "count "+s.Filter, fmt.Sprintf("%d packets, %d bytes (-1: any)", s.Packets, s.Bytes), fmt.Sprintf("%d packets, %d bytes", packets, n))
		}
		return err
	case KindFlush:
		return r.s.Flush(s.Bridge)
	case KindWait:
		return r.s.Wait(s.Seconds)
	}
	return nil
}

// lines compares lists whose order says nothing.
func (r *run) lines(s *Step, what string, got []string) {
	want := slices.Clone(s.Lines)
	slices.Sort(want)
	got = slices.Clone(got)
	slices.Sort(got)
	if slices.Equal(want, got) {
		return
	}
	for _, l := range want {
		if !slices.Contains(got, l) {
			r.differ(s.Line, what, l, "it is not there; there are\n    "+strings.Join(got, "\n    "))
		}
	}
	for _, l := range got {
		if !slices.Contains(want, l) {
			r.differ(s.Line, what, "not there", l)
		}
	}
	if len(got) != len(want) && len(r.r.Differences) == 0 {
		r.differ(s.Line, what, fmt.Sprint(len(want), " lines"), fmt.Sprint(len(got)))
	}
	r.update(s, got)
}

func (r *run) send(s *Step) error {
	x, explains := r.s.(Explainer)
	// The question comes first: a frame may teach the switch something.
	var why Explanation
	if explains && len(s.Frames) == 1 {
		var err error
		if why, err = x.Explain(s.Port, s.Frames[0]); err != nil {
			return err
		}
	}
	got, err := r.s.Send(s.Port, s.Frames)
	if err != nil {
		return err
	}
	before := len(r.r.Differences)
	all := describeAll(s, got)
	for i := range s.Expect {
		if e := &s.Expect[i]; e.Kind == ExpectFrame {
			r.frame(s, e, got)
		} else if explains {
			r.reason(s, e, &why)
		}
	}
	for at, frames := range got {
		for _, f := range frames {
			r.differ(s.Line, "port "+at.String(), "nothing more", s.Frames[0].Describe(f))
		}
	}
	if len(r.r.Differences) == before {
		return nil
	}
	if len(all) == 0 {
		all = append(all, strings.TrimSpace("drop "+why.Reason))
	}
	for _, e := range s.Expect {
		switch e.Kind {
		case ExpectLooks, ExpectIgnores:
			all = append(all, map[ExpectKind]string{ExpectLooks: "looks ", ExpectIgnores: "ignores "}[e.Kind]+e.Text)
		case ExpectMegaflow:
			all = append(all, "megaflow "+why.Megaflow)
		case ExpectActions:
			all = append(all, "actions "+why.Actions)
		}
	}
	r.update(s, all)
	return nil
}

// frame takes the frame that e expects out of got.
func (r *run) frame(s *Step, e *Expect, got map[PortRef][][]byte) {
	for _, at := range e.Ports {
		if f := got[at]; len(f) > 0 && bytes.Equal(f[0], e.Bytes) {
			got[at] = f[1:]
			return
		}
	}
	for _, at := range e.Ports {
		if f := got[at]; len(f) > 0 {
			r.differ(e.Line, "frame at port "+at.String(), e.Text+"\n           hex "+hex.EncodeToString(e.Bytes),
				s.Frames[0].Describe(f[0])+"\n           hex "+hex.EncodeToString(f[0]))
			got[at] = f[1:]
			return
		}
	}
	r.differ(e.Line, "frame", e.Text, "nothing there")
}

// reason compares what e asks with why.
func (r *run) reason(s *Step, e *Expect, why *Explanation) {
	switch e.Kind {
	case ExpectDrop:
		if e.Text != "" && why.Looks != nil && why.Reason != e.Text {
			r.differ(e.Line, "reason of the drop", e.Text, why.Reason)
		}
	case ExpectMegaflow:
		if why.Megaflow != e.Text {
			r.differ(e.Line, "megaflow", e.Text, why.Megaflow)
		}
	case ExpectActions:
		if why.Actions != e.Text {
			r.differ(e.Line, "datapath actions", e.Text, why.Actions)
		}
	case ExpectLooks, ExpectIgnores:
		if why.Looks == nil {
			return
		}
		for name := range strings.FieldsSeq(strings.ReplaceAll(e.Text, ",", " ")) {
			bits, ok := why.Looks(name)
			switch {
			case !ok:
				r.differ(e.Line, "megaflow", "a field", name+" is none")
			case e.Kind == ExpectLooks && bits == 0:
				r.differ(e.Line, "megaflow", "to depend on "+name, why.Megaflow)
			case e.Kind == ExpectIgnores && bits != 0:
				r.differ(e.Line, "megaflow", fmt.Sprintf("not to depend on %s, of which it has %d bits", name, bits), why.Megaflow)
			}
		}
	}
}

// describeAll is what a person writes to expect all of got.
func describeAll(s *Step, got map[PortRef][][]byte) []string {
	var ports []PortRef
	for at := range got {
		ports = append(ports, at)
	}
	slices.SortFunc(ports, func(a, b PortRef) int {
		if c := strings.Compare(a.Bridge, b.Bridge); c != 0 {
			return c
		}
		return a.Number - b.Number
	})
	var all []string
	for _, at := range ports {
		for _, f := range got[at] {
			text := s.Frames[0].Describe(f)
			for i := 1; i < len(s.Frames); i++ {
				if t := s.Frames[i].Describe(f); len(t) < len(text) {
					text = fmt.Sprintf("#%d %s", i+1, t)
				}
			}
			all = append(all, at.String()+": "+text)
		}
	}
	return all
}
