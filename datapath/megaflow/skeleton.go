package megaflow

import "github.com/gvswitch/gvswitch/flow"

// Table is one thread's megaflows.
type Table struct{}

// New makes a table. It fails when there is no memory, or on a Config that makes no sense.
func New(c Config) (*Table, error) { return &Table{}, nil }

// Close gives the table's memory back. Nobody may use the table any more.
func (t *Table) Close() {}

// Lookup sets out[i] to the megaflow that keys[i] belongs to, 0 if there is none, and returns
// how many there were none for. At most Batch keys, which are zero behind their base words.
func (t *Table) Lookup(keys []flow.Key, out []Ref) int { return len(keys) }

// LookupFull is Lookup for keys of which all PacketWords may be set.
func (t *Table) LookupFull(keys []flow.Key, out []Ref) int { return len(keys) }

// Find is the megaflow of one key, 0 if there is none. It leaves cache and counters alone.
func (t *Table) Find(k *flow.Key) Ref { return 0 }

// Insert adds a megaflow. key is the packet's whole key; mask says which of its bits were looked at,
// in the first PacketWords words. On ErrExists the megaflow that is there is
// returned and stays as it was.
func (t *Table) Insert(key, mask *flow.Key, value uint32) (Ref, error) { return 0, ErrLimit }

// Remove takes a megaflow out. Its Ref may be used for another one from now on.
func (t *Table) Remove(r Ref) {}

// Value is the value that Insert or SetValue gave.
func (t *Table) Value(r Ref) uint32 { return 0 }

// SetValue gives a megaflow another value; its statistics go on.
func (t *Table) SetValue(r Ref, v uint32) {}

// Stats are the statistics of a megaflow, valid until it is removed.
func (t *Table) Stats(r Ref) *Stats { return &Stats{} }

// Flow fills in a megaflow's key, zero where its mask is, and mask.
func (t *Table) Flow(r Ref, key, mask *flow.Key) {}

// Scan fills out with megaflows at and behind from (0: from the start), and says where to go on; 0: that
// was the end. It looks at no more than 4*len(out) places, so n may be smaller than len(out).
// What is inserted or removed meanwhile may or may not be met; what stays is met once.
func (t *Table) Scan(from Ref, out []Ref) (n int, next Ref) { return 0, 0 }

// Len is the number of megaflows.
func (t *Table) Len() int { return 0 }

// SetLimit changes Config.Limit. What is above stays until it is removed.
func (t *Table) SetLimit(n int) {}

// SetCache changes Config.Cache.
func (t *Table) SetCache(m CacheMode) {}

// Counters are a table's statistics since New.
type Counters struct {
	Lookups    uint64 // keys looked up
	CacheHits  uint64 // found by the signature cache
	MaskHits   uint64 // found by a subtable
	Misses     uint64
	Probes     uint64 // subtables asked, for hits and misses
	Entries    uint64 // megaflows now
	Masks      uint64 // subtables now
	Overflows  uint64 // megaflows made exact because there were too many masks
	CacheSlots uint64 // size of the signature cache now; 0: bypassed
	Memory     uint64 // bytes
}

// Counters may be called from any goroutine.
func (t *Table) Counters() Counters { return Counters{} }

// Subtable is what a dump shows of a subtable.
type Subtable struct {
	Mask    flow.Key
	Entries uint64
	Hits    uint64 // by itself or by way of the signature cache
}

// Subtables appends what there is to buf, in the order in which they are asked. Any goroutine may call it.
func (t *Table) Subtables(buf []Subtable) []Subtable { return buf }

// Record is a copy of a megaflow.
type Record struct {
	Ref            Ref
	Value          uint32
	Key, Mask      flow.Key
	Packets, Bytes uint64
	Used           uint32
	TCPFlags       uint16
}

// Dump copies megaflows to out and says where to go on, as Scan does. Any goroutine may call it while the
// owner works; each copy is consistent, the whole need not be.
func (t *Table) Dump(from Ref, out []Record) (n int, next Ref) { return 0, 0 }
