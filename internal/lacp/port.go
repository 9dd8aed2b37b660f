package lacp

// Status is what the receive machine knows of the partner.
type Status uint8

// The states of the receive machine.
const (
	StatusDefaulted Status = iota // nothing: as if there were none
	StatusExpired                 // it has not been heard in time
	StatusCurrent                 // what it said last
)

// String is Open vSwitch's word.
func (s Status) String() string {
	return [...]string{"defaulted", "expired", "current"}[s]
}

// PortConfig is the settings of a port.
type PortConfig struct {
	ID       uint16 // not 0
	Priority uint16 // the lowest is the best
	Key      uint16 // 0: that of the group
}

// Stats is what a port counted.
type Stats struct {
	RxPDUs, TxPDUs, BadPDUs     uint64
	Expirations, Defaults       uint64 // times that the partner was not heard in time, and was given up
	Carrier                     uint64 // changes of the link
	PartnerChanges, StateReport uint64 // PDUs that said something new; PDUs sent for a change
}

// Port is one link of a Group.
type Port struct {
	g       *Group
	cfg     PortConfig
	carrier bool

	status   Status
	partner  Info
	attached bool // belongs to the aggregate
	loop     bool // its partner is this system
	rx       int64
	tx       int64 // when the next PDU is due at the latest
	told     Info  // what the partner knows of this side
	sent     [maxTx]int64
	stats    Stats
}

// Status is the state of the receive machine.
func (p *Port) Status() Status { return p.status }

// Attached tells whether the link belongs to the aggregate.
func (p *Port) Attached() bool { return p.attached }

// Partner is what the partner said last, zero if nothing.
func (p *Port) Partner() Info { return p.partner }

// Stats is what the port counted so far.
func (p *Port) Stats() Stats { return p.stats }

// MayEnable tells whether traffic may use the link: it belongs to the aggregate and the partner has it
// there too; or nobody answers and the group falls back to a bond without LACP.
func (p *Port) MayEnable() bool {
	return p.attached && (p.partner.State&Sync != 0 || p.fallback())
}

func (p *Port) fallback() bool { return p.g.cfg.Fallback && p.status == StatusDefaulted }

// mayTx: a passive side speaks only when it is spoken to.
func (p *Port) mayTx() bool {
	return p.carrier && (p.g.cfg.Active || p.status != StatusDefaulted)
}

// Actor is what this side says of the link.
func (p *Port) Actor() Info {
	g := p.g
	i := Info{
		SystemPriority: g.cfg.SystemPriority, System: g.cfg.System, Key: p.cfg.Key,
		PortPriority: p.cfg.Priority, Port: p.cfg.ID,
	}
	if i.Key == 0 {
		i.Key = g.key()
	}
	set := func(on bool, s State) {
		if on {
			i.State |= s
		}
	}
	set(g.cfg.Active, Activity)
	set(g.cfg.Fast, Timeout)
	set(len(g.ports) > 1, Aggregation)
	set(p.attached || !g.negotiated, Sync)
	set(p.status == StatusDefaulted, Defaulted)
	set(p.status == StatusExpired, Expired)
	// Sending only together with receiving: the two are one thing here, as the standard allows.
	set(p.MayEnable(), Collecting|Distributing)
	return i
}

// setExpired: nothing of what the partner said is sure any more, and it is asked to speak soon.
func (p *Port) setExpired(now int64) {
	p.g.dirty = true
	p.status = StatusExpired
	p.partner.State |= Timeout
	p.partner.State &^= Sync
	p.rx = now + 3*fastTime
	p.stats.Expirations++
}

func (p *Port) setDefaulted() {
	p.g.dirty = true
	p.status = StatusDefaulted
	p.partner = Info{}
	p.stats.Defaults++
}

// maxTx is how many PDUs a port sends in a second at most (IEEE 802.1AX-2020 6.4.16).
const maxTx = 3

// free is when the port may send again.
func (p *Port) free() int64 { return p.sent[p.stats.TxPDUs%maxTx] + fastTime }

// SetCarrier tells whether the link is up.
func (p *Port) SetCarrier(up bool, now int64) {
	if p.carrier == up {
		return
	}
	p.carrier = up
	p.stats.Carrier++
	if p.status == StatusCurrent || p.g.cfg.Active {
		p.setExpired(now)
	}
	p.tx = now
}

// Receive takes a PDU that came in by the port.
func (p *Port) Receive(pdu *PDU, now int64) {
	p.stats.RxPDUs++
	if p.status != StatusCurrent {
		p.g.dirty = true
	}
	p.status = StatusCurrent
	p.rx = now + 3*p.g.period()
	p.told = pdu.Partner
	if p.partner != pdu.Actor {
		p.stats.PartnerChanges++
		p.g.dirty = true
		p.partner = pdu.Actor
	}
}

// Bad counts a frame that was to be a PDU and is none.
func (p *Port) Bad() { p.stats.BadPDUs++ }

// equal tells whether the two say the same as far as the other side cares.
func (i Info) equal(o Info) bool {
	const seen = Activity | Timeout | Aggregation | Sync | Collecting | Distributing | Defaulted | Expired
	i.State &= seen
	o.State &= seen
	return i == o
}
