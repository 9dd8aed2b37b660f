package vsctl

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// NotAppliedError says that the database took the change, but the switch could not apply all of it.
type NotAppliedError struct{ Lines []string }

func (e *NotAppliedError) Error() string { return strings.Join(e.Lines, "\n") }

// report is where the switch says what is wrong with a row: in a column, or under the keys "error" and "warning" of a map.
type report struct {
	table, nameColumn, column string
	isMap                     bool
}

// Interface comes first: what is wrong with it may be told again of its port.
var reports = []report{
	{"Interface", "name", "error", false},
	{"Port", "name", "status", true},
	{"Bridge", "name", "status", true},
	{"Open_vSwitch", "", "statistics", true},
}

// read returns what the switch says of a row.
func (p report) read(row Row) (problem, warning string) {
	if !p.isMap {
		return splitStates(row[p.column].Str())
	}
	problem, _ = row[p.column].MapValue("error")
	warning, _ = row[p.column].MapValue("warning")
	return problem, warning
}

// noPatchPeer ends the switch's text for a patch port whose peer is not there (yet): it runs, with its link down.
const noPatchPeer = ": there is no patch port of that name"

// splitStates takes out of an error what is only a state: a patch port is made before its peer, or outlives it.
func splitStates(text string) (problem, state string) {
	if !strings.Contains(text, noPatchPeer) {
		return text, ""
	}
	var problems, states []string
	for _, part := range strings.Split(text, "; ") {
		if strings.HasPrefix(part, "options:peer=") && strings.HasSuffix(part, noPatchPeer) {
			states = append(states, part)
		} else {
			problems = append(problems, part)
		}
	}
	return strings.Join(problems, "; "), strings.Join(states, "; ")
}

// AppliedColumns are the columns that WaitApplied looks at.
func AppliedColumns(o *Options) map[string][]string {
	m := map[string][]string{"Open_vSwitch": {"cur_cfg"}, "Interface": {"ofport"}}
	for _, p := range reports {
		if o.Compat && p.table != "Interface" {
			continue // ovs-vsctl knows nothing of the others
		}
		if p.nameColumn != "" {
			m[p.table] = append(m[p.table], p.nameColumn)
		}
		m[p.table] = append(m[p.table], p.column)
	}
	return m
}

// WaitApplied waits until the switch has applied what Run committed: until Open_vSwitch.cur_cfg reaches the result's NextCfg. It warns of
// what has no effect, and returns a *NotAppliedError for what could not be done. db may be another connection than Run's; if so, it must be
// monitored with AppliedColumns.
func WaitApplied(ctx context.Context, db Database, o *Options, result *Result) error {
	if result.NextCfg == 0 {
		return nil
	}
	for {
		now, number := db.Snapshot()
		for _, ovs := range now["Open_vSwitch"] {
			if cfg, _ := ovs["cur_cfg"].Int(); cfg >= result.NextCfg {
				return result.check(now, o)
			}
		}
		if err := db.Wait(ctx, number); err != nil {
			return err
		}
	}
}

// check looks for what the switch could not do: interfaces of this change that have no port number, and, unless it is to be as
// ovs-vsctl does, errors of rows that the change touched, and errors and warnings that came with it.
func (result *Result) check(now Snapshot, o *Options) error {
	var lines []string
	told := make(toldErrors)
	for _, p := range reports {
		var more []string
		for id, row := range now[p.table] {
			isNew, touched := result.watch[p.table][id]
			problem, warning := p.read(row)
			oldProblem, oldWarning := p.read(result.old[p.table][id])
			name := row[p.nameColumn].Str()
			switch {
			case p.table == "Interface" && isNew && failedPort(row["ofport"]):
				more = append(more, setupError(name, problem, o.Compat))
				told.add(p.subject(name), problem)
			case o.Compat:
			case problem != "" && (touched || problem != oldProblem) && !told.all(p.subject(name), problem):
				more = append(more, p.text(name, problem))
				told.add(p.subject(name), problem)
			case warning != "" && warning != oldWarning:
				o.warn("warning: " + p.subject(name) + ": " + warning)
			}
		}
		slices.Sort(more)
		lines = append(lines, more...)
	}
	if lines == nil {
		return nil
	}
	return &NotAppliedError{Lines: lines}
}

// toldErrors are the errors that were printed, each with the row that it is of. An Interface has those of its port and its bridge too, as
// "port NAME: ..." and "bridge NAME: ...".
type toldErrors map[string]bool

func (t toldErrors) add(subject, problem string) {
	for _, part := range strings.Split(problem, "; ") {
		t[subject+": "+part] = true
		if rest, ok := strings.CutPrefix(part, "port "); ok {
			t["Port "+rest] = true
		} else if rest, ok := strings.CutPrefix(part, "bridge "); ok {
			t["Bridge "+rest] = true
		}
	}
}

// all reports whether nothing of a row's problem is new.
func (t toldErrors) all(subject, problem string) bool {
	for _, part := range strings.Split(problem, "; ") {
		if !t[subject+": "+part] {
			return false
		}
	}
	return true
}

func failedPort(ofport ovsdb.Datum) bool {
	n, ok := ofport.Int()
	return !ok || n == -1
}

// text is the line for an error.
func (p report) text(name, problem string) string {
	if p.table == "Interface" {
		return setupError(name, problem, false)
	}
	return p.subject(name) + ": " + problem
}

func (p report) subject(name string) string {
	if name == "" {
		return p.table
	}
	return p.table + " " + name
}

// setupError is ovs-vsctl's text for an interface.
func setupError(name, reason string, compat bool) string {
	text := fmt.Sprintf("Error detected while setting up '%s'", name)
	if reason != "" {
		text += ": " + reason
	}
	if compat {
		text += ".  See ovs-vswitchd log for details."
	}
	return text
}
