package xlate

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/odp"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// portUnset is actset_output as long as the action set has no output (Open vSwitch's OFPP_UNSET).
const portUnset = 0xfff7

// Xlate translates, for one thread. Make it with New.
type Xlate struct {
	res    Result
	in     *Input
	trace  *Trace
	orig   *flow.Key
	wc     *flow.Key
	normal Normal
	ask    Mirror
	look   rules.Scratch
	live   liveness

	cur     current
	spare   packetState
	queue   uint64 // the packet's WordQueue at first
	lookups int
	steps   int
	failed  bool
	failure packet.DropReason

	list []odp.Action
	outs []NormalOut

	conts  []cont
	saves  []saved
	stack  []pushed
	sets   []written
	setBuf []ofp.Action
	vers   [2 * maxPatches]versioned
	nVers  int

	nConts, nSaves       int
	contFloor, saveFloor int
	nStack, nSets, nBuf  int
}

// versioned is a version of a bridge's tables that was looked at.
type versioned struct {
	tables  *rules.Tables
	version uint64
}

// New makes an Xlate with all the memory that it will ever use.
func New() *Xlate {
	x := &Xlate{
		list:   make([]odp.Action, 0, maxActions),
		outs:   make([]NormalOut, 0, maxOuts),
		conts:  make([]cont, maxConts),
		saves:  make([]saved, maxSaves),
		stack:  make([]pushed, maxStack),
		sets:   make([]written, maxSet),
		setBuf: make([]ofp.Action, maxSetBuf),
	}
	x.res.Rules = make([]*rules.Rule, 0, maxResubmits)
	x.res.Groups = make([]*rules.Group, 0, maxResubmits)
	x.res.Buckets = make([]*rules.Bucket, 0, maxUsed)
	x.res.Meters = make([]*rules.Meter, 0, maxResubmits)
	x.res.Mirrors = make([]*MirrorStats, 0, maxUsed)
	x.wc = &x.res.Mask
	x.live.x = x
	return x
}

// retries is how often a translation is done again because the tables moved on too fast.
const retries = 3

// Run translates a packet.
func (x *Xlate) Run(in *Input) *Result {
	count(covActions)
	x.in, x.orig, x.trace = in, &in.Key, in.Trace
	for range retries {
		x.run()
		if x.valid() {
			break
		}
	}
	x.in, x.trace = nil, nil
	return &x.res
}

func (x *Xlate) run() {
	r := &x.res
	r.Mask = flow.Key{}
	r.Rules, r.Groups, r.Buckets, r.Meters = r.Rules[:0], r.Groups[:0], r.Buckets[:0], r.Meters[:0]
	r.Mirrors = r.Mirrors[:0]
	r.Learns, r.Tags, r.Why = false, 0, packet.DropNone
	x.list, x.outs = x.list[:0], x.outs[:0]
	x.nConts, x.nSaves, x.contFloor, x.saveFloor = 0, 0, 0, 0
	x.nStack, x.nSets, x.nBuf, x.nVers = 0, 0, 0, 0
	x.lookups, x.steps, x.failed = 0, 0, false

	c := &x.cur
	c.packet.start(x.orig)
	c.packet.key[flow.WordPipe] |= portUnset
	c.base = c.packet
	x.queue = x.orig[flow.WordQueue]
	c.list, c.at, c.cont = nil, 0, -1
	c.stack, c.set, c.outs = -1, -1, 0
	c.why, c.ended = packet.RuleDrop, false
	c.table, c.depth, c.patches, c.level = 0, 0, 0, 0
	x.startTrace()
	x.enter(x.in.Bridge)
	if x.receives(x.orig.InPort()) {
		x.push(contActions, -1)
		x.conts[0].level = c.level + 1 // the action set belongs to table 0
		x.mirror(x.orig.InPort(), false)
		if x.in.Actions != nil {
			c.list = x.in.Actions
		} else {
			x.table(0, c.packet.key.InPort())
		}
		x.loop(-1)
	}
	x.finish()
}

// enter makes b the bridge that decides.
func (x *Xlate) enter(b Bridge) {
	c := &x.cur
	c.bridge, c.tables = b, b.Tables()
	c.mirrors, c.mirrored = b.Mirrors(), 0
	c.version = c.tables.Version()
	if x.nVers < len(x.vers) {
		x.vers[x.nVers] = versioned{c.tables, c.version}
		x.nVers++
	}
	x.noteBridge(b)
}

// valid tells whether all versions of tables that were used could be looked at to the end.
func (x *Xlate) valid() bool {
	for i := range x.vers[:x.nVers] {
		if v := &x.vers[i]; !v.tables.Valid(v.version) {
			return false
		}
	}
	return true
}

// receives tells whether a port of the present bridge takes packets.
func (x *Xlate) receives(of uint32) bool {
	p, ok := x.cur.bridge.Port(of)
	if ok && p.Reserved {
		x.noteWarn("dropping packet received on a port that is reserved exclusively for mirroring")
		x.cur.why = packet.MirrorOutput
		return false
	}
	if ok && p.NoRecv {
		count(covForwarding)
		x.noteWarn("OFPPC_NO_RECV set, dropping")
		x.cur.why = packet.PortNoRecv
		return false
	}
	return true
}

// finish makes the result of what was found.
func (x *Xlate) finish() {
	r, c := &x.res, &x.cur
	if r.Mask[flow.WordTP]&bitsPorts != 0 {
		r.Mask[flow.WordIP] |= bitsFrag // which have them is part of the answer
	}
	if x.failed {
		x.list = x.list[:0]
		x.outs = x.outs[:0]
		r.Why = x.failure
		x.emitDrop(r.Why)
	} else {
		x.endWay()
		r.Why = packet.DropNone
		if !x.sends() {
			r.Why = c.why
			if c.why == packet.NoRule || c.why == packet.RuleDrop {
				count(covPipeline)
			}
		}
	}
	r.Actions = x.list
	clear(r.Mask[flow.PacketWords:])
	r.Final = c.packet.key
	x.endTrace()
}

// endWay ends the list of one way that the packet may go.
func (x *Xlate) endWay() {
	if x.cur.outs == 0 && !x.cur.ended {
		x.emitDrop(x.cur.why)
	}
}

func (x *Xlate) emitDrop(why packet.DropReason) {
	if len(x.list) < maxActions {
		x.list = append(x.list, odp.Action{Op: odp.Drop, Reason: why})
	}
}

// sends tells whether the list has an output at all.
func (x *Xlate) sends() bool {
	for i := range x.list {
		if op := x.list[i].Op; op == odp.Output || op == odp.Patch {
			return true
		}
	}
	return false
}

// table looks a packet up in a table as if it had come in by a port, and takes up what is found.
func (x *Xlate) table(id uint8, in uint32) {
	c := &x.cur
	if !x.mayGoOn() {
		return
	}
	k := &c.packet.key
	port, ports := k[flow.WordPort], k[flow.WordTP]
	k.SetInPort(in)
	if k.Frag() != 0 {
		// So that all fragments go the same way, none has ports in the tables: Open vSwitch's frag mode
		// "normal" (ovs-ofctl(8), set-frags).
		k[flow.WordTP] &^= bitsPorts
	}
	r := x.lookup(id)
	k[flow.WordPort], k[flow.WordTP] = port, ports
	x.res.Tags |= rules.TableTag(id)
	x.lookups++
	if x.failed {
		return
	}
	if r == nil {
		c.why = packet.NoRule
		x.noteTable(id, nil)
		return
	}
	x.res.Rules = append(x.res.Rules, r)
	x.call()
	if id <= c.table && x.lookups > 1 {
		c.depth++
	}
	c.table = id
	c.list, c.at = r.Actions, 0
	c.why = packet.RuleDrop
	x.noteTable(id, r)
}

// lookup finds the rule. Nobody knows what is below a label that was popped, so a lookup that asks for it
// fails.
func (x *Xlate) lookup(id uint8) *rules.Rule {
	c := &x.cur
	if !c.packet.blind || c.packet.nLabel > 0 {
		return c.tables.Lookup(id, c.version, &c.packet.key, x.wc, &x.look)
	}
	var wc flow.Key
	r := c.tables.Lookup(id, c.version, &c.packet.key, &wc, &x.look)
	for i := l3First; i <= l3Last; i++ {
		if wc[i] != 0 {
			x.fatal(packet.BadHeader, covUnsupported, "a table matches on headers behind an MPLS label that was popped")
			return nil
		}
	}
	for i := range wc {
		x.wc[i] |= wc[i]
	}
	return r
}

// mayGoOn tells whether another table or group may be used.
func (x *Xlate) mayGoOn() bool {
	switch {
	case x.cur.depth >= maxDepth:
		x.fail(packet.TooDeep, covDepth, "over max translation depth 64")
	case x.lookups >= maxResubmits:
		x.fail(packet.TooManyResubmits, covResubmits, "over 4096 resubmit actions")
	default:
		return true
	}
	return false
}

// liveness tells rules which ports are up.
type liveness struct{ x *Xlate }

// PortUp tells whether a port of the present bridge is up.
func (l *liveness) PortUp(of uint32) bool {
	p, ok := l.x.cur.bridge.Port(of)
	return ok && p.Up && !p.NoLink
}
