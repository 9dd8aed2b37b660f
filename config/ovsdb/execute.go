package ovsdb

import (
	"strings"
	"time"
)

// Env is what a transaction needs to know of its surroundings.
type Env struct {
	// Elapsed is how long the transaction has waited since it was first tried.
	Elapsed time.Duration
	// HasLock answers "assert"; nil means no lock is held.
	HasLock func(name string) bool
	// Reserved refuses operations that would change the database, as for
	// "_Server", which only its own server writes.
	Reserved bool
	// Commit makes the changes durable. It runs when all checks are passed and
	// the DB already shows the new state; if it fails, the DB is put back and
	// the transaction fails with an "I/O error". It may be nil.
	Commit func(changes []Change, comment string) error
}

// Outcome is what became of a transaction.
type Outcome struct {
	// Results has an element for each operation, for encoding/json: the
	// operation's result, an *Error for the one that failed, nil after that. An
	// *Error more than there are operations means that the commit failed (RFC
	// 7047 section 4.1.3).
	Results []any
	// Changes are the rows that were changed, empty if the transaction failed.
	Changes []Change
	// Blocked says that a "wait" did not hold and its time is not over: nothing
	// was done; try again after the next change, or at Timeout.
	Blocked bool
	// Timeout is when a blocked transaction fails, counted from its first try;
	// negative means never.
	Timeout time.Duration
}

// Failed reports whether the transaction did not take place.
func (o *Outcome) Failed() bool {
	for _, r := range o.Results {
		if _, bad := r.(*Error); bad {
			return true
		}
	}
	return o.Blocked
}

// Execute runs the operations (RFC 7047 section 5.2, generic JSON as from
// DecodeJSON) as one transaction: all of them or none.
func (db *DB) Execute(ops []any, env Env) Outcome {
	x := execution{tx: newTxn(db), env: env}
	results := make([]any, 0, len(ops)+1)
	for i, op := range ops {
		res, err := x.operation(op, i, len(ops))
		if x.blocked {
			return Outcome{Blocked: true, Timeout: x.timeout}
		}
		if err != nil {
			results = append(results, asError(err))
			return Outcome{Results: append(results, make([]any, len(ops)-i-1)...)}
		}
		results = append(results, res)
	}
	changes, err := x.tx.precommit()
	if err == nil {
		err = db.commit(changes, strings.Join(x.comments, "\n"), env)
	}
	if err != nil {
		return Outcome{Results: append(results, asError(err))}
	}
	return Outcome{Results: results, Changes: changes}
}

func (db *DB) commit(changes []Change, comment string, env Env) error {
	if len(changes) == 0 {
		return nil
	}
	db.apply(changes)
	if env.Commit == nil {
		return nil
	}
	err := env.Commit(changes, comment)
	if err == nil {
		return nil
	}
	undo := make([]Change, len(changes))
	for i, c := range changes {
		undo[i] = Change{Table: c.Table, Old: c.New, New: c.Old}
	}
	db.apply(undo)
	return newError("I/O error", "%v", err)
}

func asError(err error) *Error {
	if e, ok := err.(*Error); ok {
		return e
	}
	return newError("internal error", "%v", err)
}

// execution is the state of one Execute.
type execution struct {
	tx       *txn
	env      Env
	comments []string
	blocked  bool
	timeout  time.Duration
}
