package rules

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// Tables are the tables, groups and meters of a bridge. Make them with New.
type Tables struct {
	version   atomic.Uint64 // published. The high half counts big changes, the low half small ones between
	changed   tagLog
	reclaimed atomic.Uint64 // versions below this can no longer be looked at
	pins      atomic.Int32  // slow readers: nothing is reclaimed
	tables    [ofp.MaxTables]atomic.Pointer[table]
	groups    idmap[Group]
	meters    idmap[Meter]

	groupMu sync.Mutex   // held for the whole of a change of groups, before big
	big     sync.Mutex   // held for the whole of a big change, before mu
	waiting atomic.Int32 // small writers that wait for mu

	mu      sync.Mutex // held for one piece of a change
	pending *txn       // the big change under way, which has to
	log     []*Rule    // look at these rules that came or went meanwhile
	seq     uint32
	timers  timers
	limbo   limbo
	learned map[cookieOf]int // rules with delete_learned, by what they learn
	orphans []cookieOf       // those of learned that came to 0
	counted map[cookieOf]int // rules by cookie, for Options.Limit

	maskMu sync.Mutex
	masks  map[flow.Key]*mask // a cache

	start time.Time
	grace time.Duration
}

// cookieOf is a cookie in a table.
type cookieOf struct {
	cookie uint64
	table  uint8
}

// grace is how long rules that went stay where they are for those who decide by an older
// version. A decision takes microseconds; one that was held up for longer is told so by Valid.
const grace = 20 * time.Millisecond

// New makes empty tables.
func New() *Tables {
	t := &Tables{
		start: time.Now(), grace: grace,
		learned: map[cookieOf]int{}, counted: map[cookieOf]int{},
		masks: map[flow.Key]*mask{},
	}
	t.version.Store(1)
	return t
}

// Version is the newest version.
func (t *Tables) Version() uint64 { return t.version.Load() }

// Valid tells whether what was looked up in a version was right: it is, unless the version was
// replaced so long ago that its rules are gone. Ask at the end of a decision, and
// if it is false, decide again.
func (t *Tables) Valid(version uint64) bool { return version >= t.reclaimed.Load() }

// lockSmall takes mu for a small change; those who work in pieces let it go first.
func (t *Tables) lockSmall() {
	t.waiting.Add(1)
	t.mu.Lock()
	t.waiting.Add(-1)
}

// lockPiece takes mu for a piece of a big change.
func (t *Tables) lockPiece() {
	for i := 0; i < 1000 && t.waiting.Load() > 0; i++ {
		runtime.Gosched()
	}
	t.mu.Lock()
}

// table is a table to write to, made if need be. Preconditions: mu.
func (t *Tables) table(n uint8) *table {
	tb := t.tables[n].Load()
	if tb == nil {
		tb = newTable()
		t.tables[n].Store(tb)
	}
	return tb
}

// maskOf is the mask of the bits of full, one object for as many rules as possible.
func (t *Tables) maskOf(full *flow.Key) *mask {
	t.maskMu.Lock()
	defer t.maskMu.Unlock()
	m := t.masks[*full]
	if m == nil {
		if len(t.masks) >= 1024 {
			clear(t.masks)
		}
		m = newMask(full)
		t.masks[*full] = m
	}
	return m
}
