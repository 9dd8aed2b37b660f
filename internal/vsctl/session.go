package vsctl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// Result is what a session has done.
type Result struct {
	Output []byte
	// Status is 0, or what br-exists wants (2).
	Status int
	// NextCfg is what Open_vSwitch.cur_cfg must reach before the switch has applied the change; 0 if there is nothing to wait for.
	NextCfg int64

	watch map[string]map[ovsdb.UUID]bool // rows, by table, that the change touched: true if add-port and the like made them
	old   Snapshot
}

// Session executes commands on a database. Use it once.
type Session struct {
	db       Database
	options  Options
	commands []*Command
	number   uint64 // of the snapshot that is worked on
}

// NewSession prepares to execute commands, as Parse returns them.
func NewSession(db Database, o Options, commands []*Command) *Session {
	return &Session{db: db, options: o, commands: commands}
}

// Run executes the commands in one transaction, again when the database changes under them, and returns when it is committed. With
// wait-until that may take until ctx is done.
func (s *Session) Run(ctx context.Context) (*Result, error) {
	columns, err := s.plan()
	if err != nil {
		return nil, err
	}
	if err := s.db.Monitor(ctx, columns); err != nil {
		return nil, err
	}
	for {
		base, number := s.db.Snapshot()
		s.number = number
		result, err := s.attempt(ctx, base)
		if err != nil || result != nil {
			return result, err
		}
		if err := s.db.Wait(ctx, number); err != nil {
			return nil, err
		}
	}
}

// plan runs the commands' preparation.
func (s *Session) plan() (map[string][]string, error) {
	p := newPlan(s.db.Schema(), &s.options)
	p.need("Open_vSwitch")
	if !s.options.NoWait {
		for table, columns := range AppliedColumns(&s.options) {
			p.need(table, columns...)
		}
	}
	if !s.options.Compat { // for checkNames
		p.need("Interface", "name", "type", "options")
	}
	for _, c := range s.commands {
		if c.Syntax.prepare == nil {
			continue
		}
		if err := c.Syntax.prepare(p, c); err != nil {
			return nil, err
		}
	}
	return p.result(), nil
}

// attempt executes the commands on one snapshot. It returns nothing if they must be tried again on a newer one.
func (s *Session) attempt(ctx context.Context, base Snapshot) (*Result, error) {
	r, err := newRun(&s.options, s.db.Schema(), base)
	if err != nil {
		return nil, err
	}
	outputs := make([]*output, len(s.commands))
	for i, c := range s.commands {
		outputs[i] = &output{}
		r.out = outputs[i]
		if c.Syntax.run == nil {
			continue
		}
		if err := c.Syntax.run(r, c); err != nil {
			return nil, err
		}
		if r.tryAgain {
			return nil, nil
		}
		if r.exit != 0 {
			return &Result{Status: r.exit}, nil
		}
	}
	if err := r.names.check(s.options.warn); err != nil {
		return nil, err
	}
	if !s.options.Compat {
		if err := r.checkNames(); err != nil {
			return nil, err
		}
	}
	result, ids, err := s.commit(ctx, r)
	if result != nil {
		result.Output = s.print(r, outputs, ids)
		result.old = base
	}
	return result, err
}

// commit sends the transaction. It returns no result if the database has changed meanwhile; ids are the UUIDs of inserted rows.
func (s *Session) commit(ctx context.Context, r *run) (*Result, map[*row]ovsdb.UUID, error) {
	t := r.build(!s.options.NoWait)
	if !t.changing {
		return &Result{}, nil, nil
	}
	replies, err := s.db.Transact(ctx, t.ops)
	if err != nil {
		return nil, nil, err
	}
	for i, raw := range replies {
		e := parseError(raw)
		switch {
		case e == nil:
		case e.Tag == "timed out": // a wait: something that this depends on has changed
			return nil, nil, nil
		case nameTaken(e) && s.moreNews(ctx): // by somebody else, just now; the commands say it better
			return nil, nil, nil
		case e.Tag == "aborted" && s.options.DryRun:
			return &Result{}, nil, nil
		default:
			return nil, nil, s.explain(r, t, i, e, raw)
		}
	}
	if len(replies) < len(t.ops) {
		return nil, nil, fmt.Errorf("the database gave %d results for %d operations", len(replies), len(t.ops))
	}
	ids := make(map[*row]ovsdb.UUID)
	for i, x := range t.inserts {
		id, err := insertedID(replies[i])
		if err != nil {
			return nil, nil, err
		}
		ids[x] = id
	}
	result := &Result{watch: r.watched(ids)}
	if t.nextCfg >= 0 {
		if result.NextCfg, err = selectedInt(replies[t.nextCfg], "next_cfg"); err != nil {
			return nil, nil, err
		}
	}
	return result, ids, nil
}

// configured reports whether the run wrote to the row more than references to other rows and notes of management systems.
func (x *row) configured() bool {
	for column := range x.written {
		switch column {
		case "bridges", "ports", "interfaces", "external_ids":
		default:
			return true
		}
	}
	return false
}

// watched returns the rows whose configuration the change touched and that are still there.
func (r *run) watched(ids map[*row]ovsdb.UUID) map[string]map[ovsdb.UUID]bool {
	watch := make(map[string]map[ovsdb.UUID]bool)
	add := func(x *row, isNew bool) {
		if watch[x.table.Name] == nil {
			watch[x.table.Name] = make(map[ovsdb.UUID]bool)
		}
		id, ok := ids[x]
		if !ok {
			id = x.id
		}
		watch[x.table.Name][id] = isNew
	}
	for _, rows := range r.touched {
		for _, x := range rows {
			if x.configured() && !x.deleted {
				add(x, false)
			}
		}
	}
	for _, x := range r.newIfaces {
		if !x.deleted {
			add(x, true)
		}
	}
	return watch
}

// nameTaken reports whether the database refused a second row of one name.
func nameTaken(e *ovsdb.Error) bool {
	return e.Tag == "constraint violation" && strings.HasPrefix(e.Details, "Transaction causes multiple rows")
}

// newsTime is how long a change that another client has made may take to reach us.
const newsTime = 300 * time.Millisecond

// moreNews reports whether the database has changed since the attempt that was refused began, at the latest after newsTime.
func (s *Session) moreNews(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, newsTime)
	defer cancel()
	return s.db.Wait(ctx, s.number) == nil
}

// explain makes the text for an error of the database.
func (s *Session) explain(r *run, t *transaction, i int, e *ovsdb.Error, raw json.RawMessage) error {
	if s.options.Compat {
		return fmt.Errorf("transaction error: %s", raw)
	}
	what := "the change"
	if i < len(t.ops) {
		op := t.ops[i].(object)
		what = fmt.Sprintf("%v", op["op"])
		if table, ok := op["table"]; ok {
			what += fmt.Sprintf(" in table %v", table)
		}
		if x := t.inserts[i]; x != nil && r.str(x, "name") != "" {
			what += fmt.Sprintf(" of record %q", r.str(x, "name"))
		}
	}
	return fmt.Errorf("the database refused %s: %w", what, e)
}

// print puts the commands' outputs together.
func (s *Session) print(r *run, outputs []*output, ids map[*row]ovsdb.UUID) []byte {
	var b bytes.Buffer
	first := true
	for _, o := range outputs {
		if o.created != nil {
			id, ok := ids[o.created]
			if !ok {
				id = o.created.id
			}
			fmt.Fprintf(&o.text, "%s\n", id)
			o.value = id.String()
		}
		switch {
		case o.table != nil:
			o.table.print(&b, s.options.Style, first)
			first = false
		case o.value != nil && s.options.Style.Format == "json" && !s.options.Compat:
			writeJSON(&b, o.value, s.options.Style.Pretty)
		case s.options.Oneline:
			text := strings.TrimSuffix(o.text.String(), "\n")
			text = strings.ReplaceAll(text, `\`, `\\`)
			b.WriteString(strings.ReplaceAll(text, "\n", `\n`) + "\n")
		default:
			b.Write(o.text.Bytes())
		}
	}
	return b.Bytes()
}

// parseError returns the error that a result is, or nil.
func parseError(raw json.RawMessage) *ovsdb.Error {
	var e struct{ Error, Details, Syntax string }
	if json.Unmarshal(raw, &e) != nil || e.Error == "" {
		return nil
	}
	return &ovsdb.Error{Tag: e.Error, Details: e.Details, Syntax: e.Syntax}
}

func insertedID(raw json.RawMessage) (ovsdb.UUID, error) {
	var reply struct {
		UUID [2]string `json:"uuid"`
	}
	if err := json.Unmarshal(raw, &reply); err != nil {
		return ovsdb.UUID{}, fmt.Errorf("result of an insert: %w", err)
	}
	return ovsdb.ParseUUID(reply.UUID[1])
}

func selectedInt(raw json.RawMessage, column string) (int64, error) {
	var reply struct {
		Rows []map[string]json.Number `json:"rows"`
	}
	if err := json.Unmarshal(raw, &reply); err != nil {
		return 0, fmt.Errorf("result of a select: %w", err)
	}
	if len(reply.Rows) != 1 {
		return 0, errors.New("result of a select: the Open_vSwitch record has gone")
	}
	return reply.Rows[0][column].Int64()
}
