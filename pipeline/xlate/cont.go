package xlate

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/odp"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// Limits.
const (
	maxDepth     = 64   // tables, groups and patches within each other, that lead backwards
	maxResubmits = 4096 // table lookups
	maxActions   = 4096 // of the list
	// maxSteps bounds the work for one packet, some 2 ms: actions done, groups' buckets and bundles' members chosen from,
	// with other things that take long counted as several.
	maxSteps   = 1 << 16
	maxPatches = 8 // patches within each other

	maxConts  = 1024
	maxSaves  = 192
	maxOuts   = 4096 // ports that NORMAL, FLOOD and ALL give
	maxStack  = 1024 // values pushed
	maxSet    = 1024 // actions written to action sets
	maxSetBuf = 2048 // actions of action sets and buckets in the order in which they are done
	maxUsed   = 8192 // rules hit
)

// what says what is to happen when a list of actions has come to its end.
type what uint8

const (
	contReturn  what = iota // go on with the list that was left
	contActions             // do the action set: a bridge's pipeline has come to its end
	contRestore             // the end of a clone
	contBucket              // the end of a bucket: do the next, if there is one
	contOuts                // send to the next port of NORMAL, FLOOD or ALL
	contPatch               // the end of what a patch port's peer does
	contQueue               // the end of an enqueue
)

// cont is what remains to be done when a list is done. Conts never change once they are made: when
// a packet may go two ways (check_pkt_larger), both go on from the same one.
type cont struct {
	list    []ofp.Action
	group   *rules.Group
	version uint64
	tables  *rules.Tables
	bridge  Bridge
	next    int32 // index of what comes after this; -1: nothing
	save    int32 // index in saves, -1: nothing to restore
	lo, hi  int32 // contBucket: next bucket; contOuts: the range in outs; hi of a scope: where it began in the list
	end     int32 // contBucket: behind the last bucket
	stack   int32
	set     int32
	outs    int32
	queue   uint64
	mirrors bool
	done    uint32 // mirrors that have the packet, see contPatch
	kind    what
	table   uint8
	depth   uint8
	patches uint8
	level   uint8
}

// saved is what a cont restores.
type saved struct {
	packet packetState
	// metered says that a meter may end the scope early; base is then what the packet
	// looks like wherever it may do so.
	base    packetState
	metered bool
}

// current is all that differs between the ways that a packet may go.
type current struct {
	packet, base packetState
	list         []ofp.Action // what is to be done now, from at on
	at           int
	cont         int32
	bridge       Bridge
	tables       *rules.Tables
	version      uint64
	stack, set   int32  // index of the last entry, -1: empty
	outs         int32  // outputs so far in this bridge
	mirrored     uint32 // bit n: the bridge's mirror n has the packet, or another with the same destination
	mirrors      bool   // it has any
	why          packet.DropReason
	ended        bool // both ways from here on have been followed to their end
	table        uint8
	depth        uint8
	patches      uint8
	level        uint8 // of the trace
}

// push makes a cont of the present list and what surrounds it, and gives its index, -1 if
// there is no room. The list is then empty.
func (x *Xlate) push(kind what, save int32) int32 {
	if x.nConts == maxConts {
		x.fatal(packet.TooDeep, covDepth, "too many actions wait for others to end")
		return -1
	}
	c := &x.cur
	n := &x.conts[x.nConts]
	n.kind, n.save, n.next = kind, save, c.cont
	n.list = c.list[c.at:]
	n.bridge, n.tables, n.version = c.bridge, c.tables, c.version
	n.stack, n.set, n.outs = c.stack, c.set, c.outs
	n.mirrors, n.done = c.mirrors, c.mirrored
	n.table, n.depth, n.patches, n.level = c.table, c.depth, c.patches, c.level
	n.group, n.lo, n.hi, n.end = nil, 0, 0, 0
	c.cont = int32(x.nConts)
	x.nConts++
	c.list, c.at = nil, 0
	return c.cont
}

// call leaves the present list for another one, and comes back at its end if there is anything
// to come back to.
func (x *Xlate) call() {
	if x.cur.at < len(x.cur.list) {
		x.push(contReturn, -1)
	}
}

// save keeps the packet's state; -1 if there is no room.
func (x *Xlate) save() int32 {
	if x.nSaves == maxSaves {
		x.fatal(packet.TooDeep, covDepth, "too many copies of the packet within each other")
		return -1
	}
	s := &x.saves[x.nSaves]
	s.packet = x.cur.packet
	s.metered = false
	x.nSaves++
	return int32(x.nSaves - 1)
}

// loop does actions until nothing is left but cont stop.
func (x *Xlate) loop(stop int32) {
	c := &x.cur
	for !x.failed && x.spend(1) {
		if c.at < len(c.list) {
			a := c.list[c.at]
			c.at++
			x.do(a)
			continue
		}
		if c.cont == stop {
			return
		}
		x.resume()
	}
}

// spend takes n steps of work off what a packet may cost, and is false if that is too much.
func (x *Xlate) spend(n int) bool {
	if x.steps += n; x.steps > maxSteps {
		x.fatal(packet.TooManyActions, covOversize, "over 65536 steps of translation")
		return false
	}
	return true
}

// resume takes up what comes after a list that is done.
func (x *Xlate) resume() {
	c := &x.cur
	n := x.conts[c.cont]
	if int(c.cont) == x.nConts-1 && x.nConts > x.contFloor {
		x.nConts--
	}
	c.cont = n.next
	c.list, c.at = n.list, 0
	c.table, c.depth, c.level = n.table, n.depth, n.level
	switch n.kind {
	case contActions:
		x.actionSet()
	case contRestore:
		x.leave(&n)
		x.aimMeters(&n)
		x.freeSave(n.save)
		c.stack, c.set = n.stack, n.set
	case contBucket:
		x.leave(&n)
		x.aimMeters(&n)
		x.bucketRange(n.group, n.lo, n.end, n.save)
	case contOuts:
		c.packet = x.saves[n.save].packet
		x.sendOuts(n.lo, n.hi, n.save)
	case contPatch:
		x.leavePatch(&n)
	case contQueue:
		c.packet.key[flow.WordQueue] = n.queue
	}
}

// freeSave gives back what save made, unless another way may still need it.
func (x *Xlate) freeSave(i int32) {
	if int(i) == x.nSaves-1 && x.nSaves > x.saveFloor {
		x.nSaves--
	}
}

// leave ends a scope: the packet is again what it was before. If a meter may have ended it earlier, it
// must look the same on both ways.
func (x *Xlate) leave(n *cont) {
	s := &x.saves[n.save]
	if s.metered {
		x.commitTo(&s.base)
	}
	x.cur.packet = s.packet
}

// aimMeters lets the meters of a scope that has ended jump to its end.
func (x *Xlate) aimMeters(n *cont) {
	if !x.saves[n.save].metered {
		return
	}
	for i := int(n.hi); i < len(x.list); i++ {
		if a := &x.list[i]; a.Op == odp.Meter && a.Jump == pending {
			a.Jump = uint16(len(x.list))
		}
	}
}

// pending marks a meter's jump that is not known yet.
const pending = 0xffff

// commitTo makes the packet look as b says.
func (x *Xlate) commitTo(b *packetState) {
	x.spare = x.cur.packet
	x.cur.packet = *b
	x.commit()
	x.cur.packet = x.spare
}

// exit ends all lists up to the bucket, clone or patch that they are of. The action set is not done:
// ovs-actions(7) says that it were, but Open vSwitch 3.1 does not, and people's flows rely on what it does.
func (x *Xlate) exit() {
	c := &x.cur
	c.list, c.at = nil, 0
	for c.cont >= 0 && x.conts[c.cont].kind <= contActions {
		c.cont = x.conts[c.cont].next
	}
}

// fail drops what the present bridge does with the packet: translation cannot go on there.
func (x *Xlate) fail(why packet.DropReason, cov int, text string) {
	c := &x.cur
	count(cov)
	x.noteError(text)
	c.list, c.at = nil, 0
	for c.cont >= 0 && x.conts[c.cont].kind != contPatch {
		c.cont = x.conts[c.cont].next
	}
	c.why = why
	if c.cont < 0 {
		x.failed = true
		x.failure = why
		return
	}
	x.nConts = max(x.contFloor, int(c.cont)+1)
	x.nSaves = max(x.saveFloor, int(x.conts[c.cont].save)+1)
}

// fatal drops the packet.
func (x *Xlate) fatal(why packet.DropReason, cov int, text string) {
	if x.failed {
		return
	}
	count(cov)
	x.noteError(text)
	x.failed, x.failure = true, why
	x.cur.why = why
}
