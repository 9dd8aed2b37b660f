package datapath

import (
	"runtime"

	"github.com/gvswitch/gvswitch/datapath/megaflow"
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/lacp"
	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/rules"
	"github.com/gvswitch/gvswitch/pipeline/xlate"
)

// flows is what a thread knows of what the tables say: its megaflows, their programs, and what it
// takes to translate. It is the thread's own; control code asks by thread.do.
type flows struct {
	tab   *megaflow.Table
	x     *xlate.Xlate
	progs programs
	recs  []*[recChunk]rec
	nRecs uint32
	free  uint32 // the first free record, linked by prog; 0: none

	gen     uint32 // of removals: what was looked up before may be gone
	budget  int    // translations again that this iteration may make for packets
	notes   notes  // of the last translation
	in      xlate.Input
	normal  xlate.Result // of a rule whose only action is NORMAL
	slow    *xlate.Result
	scratch rules.Scratch
	mask    flow.Key
	okey    flow.Key
	omask   flow.Key

	keys [packet.MaxBurst]flow.Key
	refs [packet.MaxBurst]megaflow.Ref
	at   [packet.MaxBurst]uint8 // the packets that the keys are of
	one  [1]flow.Key
	oref [1]megaflow.Ref

	pass  pass
	stats flowCounts
}

// rec is what a thread keeps about a megaflow beside the table: its value is the record's number.
type rec struct {
	prog    int32 // 0: the record is free
	epoch   uint32
	tags    uint64
	packets uint64 // counted for the rules already
	bytes   uint64
	bond    uint16 // that chose a member by a hash, 0: none
	bucket  uint8  // by which it did
	flood   bool   // an address was not known: every packet asks whether it is now
	many    bool   // not all notes are there
	notes   [maxNotes]macNote
}

const (
	recBits  = 10
	recChunk = 1 << recBits
)

// flowCounts counts what a thread's flows do. The thread is the one writer.
type flowCounts struct {
	translations mem.Counter // of packets that no megaflow was for
	again        mem.Counter // of megaflows, after changes
	kept         mem.Counter // of those, that stayed as they were
	evicted      mem.Counter // idle for too long
	removed      mem.Counter // because they did not hold any more
	full         mem.Counter // not kept for lack of room
	refused      mem.Counter // packets dropped by the limit on misses
	passes       mem.Counter
	fixed        mem.Counter // packets of ports with a fixed list
}

func newFlows(c FlowConfig) (*flows, error) {
	tab, err := megaflow.New(megaflow.Config{Limit: c.Limit, Cache: c.cacheMode()})
	if err != nil {
		return nil, err
	}
	f := &flows{tab: tab, x: xlate.New(), slow: slowTaken()}
	runtime.AddCleanup(f, (*megaflow.Table).Close, tab)
	f.progs.init()
	f.nRecs = 1
	f.recs = append(make([]*[recChunk]rec, 0, 1024), new([recChunk]rec))
	return f, nil
}

func (f *flows) rec(n uint32) *rec { return &f.recs[n>>recBits][n&(recChunk-1)] }

// newRec gives a record.
func (f *flows) newRec() uint32 {
	if n := f.free; n != 0 {
		f.free = f.rec(n).epoch
		return n
	}
	n := f.nRecs
	if int(n>>recBits) == len(f.recs) {
		f.recs = append(f.recs, new([recChunk]rec))
	}
	f.nRecs++
	return n
}

func (f *flows) freeRec(n uint32) {
	r := f.rec(n)
	*r = rec{epoch: f.free}
	f.free = n
}

// set makes the record say what a translation says.
func (f *flows) set(r *rec, prog int32, tags uint64, epoch uint32) {
	r.prog, r.tags, r.epoch = prog, tags|portTag, epoch
	r.notes = [maxNotes]macNote{}
	r.flood = false
	for i := range f.notes.n {
		r.notes[i] = f.notes.list[i]
		r.flood = r.flood || r.notes[i].port == noPort && !r.notes[i].src
	}
	r.many = f.notes.more
	r.bond, r.bucket = f.notes.bond, f.notes.bucket
}

// remove takes a megaflow out. What it counted has been pushed.
func (f *flows) remove(ref megaflow.Ref) {
	n := f.tab.Value(ref)
	f.progs.release(f.rec(n).prog)
	f.freeRec(n)
	f.tab.Remove(ref)
	f.gen++
}

// push gives what a megaflow counted since the last time to its rules.
func (t *thread) pushFlow(ref megaflow.Ref, r *rec) bool {
	f := t.fl
	st := f.tab.Stats(ref)
	packets, bytes := st.Packets.Load(), st.Bytes.Load()
	if packets == r.packets {
		return false
	}
	f.progs.all[r.prog].count(packets-r.packets, bytes-r.bytes, t.ms-int64(uint32(t.ms)-st.Used))
	if r.bond != 0 {
		t.bondLoad(r.bond, r.bucket, bytes-r.bytes)
	}
	r.packets, r.bytes = packets, bytes
	return true
}

// translate asks the tables about a packet with key k that came in at v. With effects it is a
// real one.
func (t *thread) translate(k *flow.Key, v *portView, size uint32, effects bool) *xlate.Result {
	f := t.fl
	if v.lacp && v.slow(k) {
		f.notes.reset()
		f.mask = f.slow.Mask
		return f.slow
	}
	return t.ask(k, v, size, effects)
}

// ask is translate for what is not for LACP.
func (t *thread) ask(k *flow.Key, v *portView, size uint32, effects bool) *xlate.Result {
	f := t.fl
	f.notes.reset()
	f.in.Bridge = t.w.bridges[v.br.id]
	f.in.Key = *k
	f.in.Key.SetInPort(uint32(v.ofPort))
	f.in.Len, f.in.Now, f.in.Effects = size, t.ms, effects
	r := f.x.Run(&f.in)
	if v.lacp {
		r.Mask[flow.WordSrc] |= typeBits
		if k.EthType() == lacp.EtherType {
			r.Mask[flow.WordDst] |= dstBits
			r.Mask[flow.WordVLAN] |= flow.TagPresent
		}
	}
	f.mask = r.Mask
	f.mask[flow.WordPort] |= portBits
	return r
}

// miss translates packet i, for whose key k there is no megaflow, and keeps the answer. 0: it could
// not be kept, and the packet has been dealt with.
func (t *thread) miss(i int, k *flow.Key, v *portView, in *inCounters) megaflow.Ref {
	f := t.fl
	p := &t.burst.Pkts[i]
	if !t.mayMiss(v) {
		f.stats.refused.Add(1)
		t.drop(in, packet.MissRate, p)
		return 0
	}
	f.stats.translations.Add(1)
	r := t.translate(k, v, p.Len, true)
	prog := f.progs.intern(r)
	ref := t.install(k, prog, r.Tags)
	if ref != 0 {
		return ref
	}
	f.stats.full.Add(1)
	q := f.progs.all[prog]
	q.count(1, uint64(p.Len), t.ms)
	t.obey(i, q, in)
	f.progs.release(prog)
	return 0
}

// install makes a megaflow of the last translation. It takes the reference to prog, unless it
// returns 0.
func (t *thread) install(k *flow.Key, prog int32, tags uint64) megaflow.Ref {
	f := t.fl
	n := f.newRec()
	ref, err := f.tab.Insert(k, &f.mask, n)
	switch {
	case err == nil:
		f.set(f.rec(n), prog, tags, t.ep.now)
		return ref
	case ref != 0: // one for the same packets is there, and says something else
		f.freeRec(n)
		r := f.rec(f.tab.Value(ref))
		t.pushFlow(ref, r)
		f.progs.release(r.prog)
		f.set(r, prog, tags, t.ep.now)
		return ref
	}
	f.freeRec(n)
	return 0
}

// again translates anew for a packet with key k that megaflow ref was found for, and gives the megaflow
// that is for it now; 0: none, and then the caller treats it as a miss.
func (t *thread) again(ref megaflow.Ref, r *rec, k *flow.Key, v *portView, size uint32) megaflow.Ref {
	f := t.fl
	f.stats.again.Add(1)
	x := t.translate(k, v, size, true)
	prog := f.progs.intern(x)
	if t.sameMask(ref) {
		t.replace(ref, r, prog, x.Tags)
		return ref
	}
	t.pushFlow(ref, r)
	f.remove(ref)
	f.stats.removed.Add(1)
	if ref = t.install(k, prog, x.Tags); ref == 0 {
		f.progs.release(prog)
	}
	return ref
}

// replace gives a megaflow, for the same packets, a new program. Its counters stay.
func (t *thread) replace(ref megaflow.Ref, r *rec, prog int32, tags uint64) {
	f := t.fl
	if prog == r.prog {
		f.stats.kept.Add(1)
	} else {
		t.pushFlow(ref, r)
	}
	old := r.prog
	f.set(r, prog, tags, t.ep.now)
	f.progs.release(old)
}

// sameMask tells whether the last translation looked at what the megaflow has in its mask, or, when there
// are too many masks, at part of that.
func (t *thread) sameMask(ref megaflow.Ref) bool {
	f := t.fl
	f.tab.Flow(ref, &f.okey, &f.omask)
	if f.omask == f.mask {
		return true
	}
	return f.tab.Counters().Overflows != 0 && within(&f.mask, &f.omask)
}

// within tells whether all bits of a are in b.
func within(a, b *flow.Key) bool {
	for i := range a {
		if a[i]&^b[i] != 0 {
			return false
		}
	}
	return true
}

// check is asked about a megaflow that was made before something changed, or that has to be asked about
// always. It gives the megaflow to use.
func (t *thread) check(ref megaflow.Ref, r *rec, k *flow.Key, v *portView, size uint32) megaflow.Ref {
	tags, hard := t.ep.since(r.epoch)
	tags &= r.tags
	if !hard && tags&^macTag == 0 && (tags == 0 && !r.flood || !r.many && t.hold(r.notes[:])) {
		r.epoch = t.ep.now
		return ref
	}
	if !hard && t.fl.budget <= 0 {
		return ref // the pass will come to it
	}
	t.fl.budget--
	return t.again(ref, r, k, v, size)
}
