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

// WaitApplied waits until the switch has applied what Run committed: until Open_vSwitch.cur_cfg reaches the result's NextCfg. It returns a
// *NotAppliedError if interfaces that the change is about could not be set up. db may be another connection than Run's; if so, it must be
// monitored with AppliedColumns.
func WaitApplied(ctx context.Context, db Database, o *Options, result *Result) error {
	if result.NextCfg == 0 {
		return nil
	}
	for {
		now, number := db.Snapshot()
		for _, ovs := range now["Open_vSwitch"] {
			if cfg, _ := ovs["cur_cfg"].Int(); cfg >= result.NextCfg {
				return checkApplied(now, o, result)
			}
		}
		if err := db.Wait(ctx, number); err != nil {
			return err
		}
	}
}

// AppliedColumns are the columns that WaitApplied looks at.
func AppliedColumns() map[string][]string {
	return map[string][]string{"Open_vSwitch": {"cur_cfg"}, "Interface": {"name", "ofport", "error"}}
}

// checkApplied looks for interfaces that the switch could not set up: new ones without a port number, and, unless it is to be as ovs-vsctl
// does, those that the change touched, or that came to have an error with it.
func checkApplied(now Snapshot, o *Options, result *Result) error {
	var lines []string
	for id, i := range now["Interface"] {
		isNew, watched := result.watch[id]
		reason := i["error"].Str()
		switch {
		case isNew && failedPort(i["ofport"]):
		case reason == "" || o.Compat:
			continue
		case watched, reason != result.old["Interface"][id]["error"].Str():
		default:
			continue
		}
		lines = append(lines, setupError(i["name"].Str(), reason, o.Compat))
	}
	if lines == nil {
		return nil
	}
	slices.Sort(lines)
	return &NotAppliedError{Lines: lines}
}

func failedPort(ofport ovsdb.Datum) bool {
	n, ok := ofport.Int()
	return !ok || n == -1
}

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
