package lacp

import (
	"bytes"
	"cmp"
	"slices"
)

// Periods of the standard, in milliseconds. A partner that is not heard for three of them is lost.
const (
	fastTime = 1000
	slowTime = 30_000
)

// Config is the settings of a Group.
type Config struct {
	Active         bool // speaks first
	Fast           bool // wants to hear every second, not only every 30
	System         [6]byte
	SystemPriority uint16
	// Fallback lets links carry traffic while nobody answers.
	Fallback bool
}

// Group is this system's side of an aggregate.
type Group struct {
	cfg        Config
	ports      []*Port // by ID
	negotiated bool
	dirty      bool // who is attached is to be decided anew
}

// New returns a group without ports.
func New(c Config) *Group { return &Group{cfg: c} }

// Config is the settings in force.
func (g *Group) Config() Config { return g.cfg }

// Configure changes the settings. With another identity everything begins anew.
func (g *Group) Configure(c Config) {
	if g.cfg != c {
		g.dirty = true
		g.cfg = c
	}
}

// AddPort adds a link, which is down.
func (g *Group) AddPort(c PortConfig) *Port {
	p := &Port{g: g, cfg: c}
	for i := range p.sent {
		p.sent[i] = -fastTime
	}
	g.ports = append(g.ports, p)
	g.sort()
	return p
}

// Configure changes the settings of a port.
func (p *Port) Configure(c PortConfig) {
	if p.cfg != c {
		p.cfg = c
		p.g.sort()
	}
}

func (g *Group) sort() {
	slices.SortStableFunc(g.ports, func(a, b *Port) int { return cmp.Compare(a.cfg.ID, b.cfg.ID) })
	g.dirty = true
}

// RemovePort removes a link.
func (g *Group) RemovePort(p *Port) {
	g.ports = slices.DeleteFunc(g.ports, func(q *Port) bool { return q == p })
	g.dirty = true
}

// Negotiated tells whether a partner was found.
func (g *Group) Negotiated() bool { return g.negotiated }

// Key is the aggregation key of ports that have none of their own.
func (g *Group) Key() uint16 { return g.key() }

func (g *Group) key() uint16 {
	if len(g.ports) == 0 {
		return 0
	}
	return g.ports[0].cfg.ID
}

// period is how often this side wants to hear from its partner.
func (g *Group) period() int64 {
	if g.cfg.Fast {
		return fastTime
	}
	return slowTime
}

// Run does what is due at time now. send is given what is to be sent, and must not keep it.
func (g *Group) Run(now int64, send func(p *Port, pdu *PDU)) {
	for _, p := range g.ports {
		if p.status == StatusDefaulted || now < p.rx {
			continue
		}
		if p.status == StatusCurrent {
			p.setExpired(now)
		} else {
			p.setDefaulted()
		}
	}
	if g.dirty {
		g.attach()
	}
	for _, p := range g.ports {
		if !p.mayTx() || now < p.free() {
			continue
		}
		actor := p.Actor()
		if changed := !actor.equal(p.told); !changed && now < p.tx {
			continue
		} else if changed {
			p.stats.StateReport++
		}
		send(p, &PDU{Actor: actor, Partner: p.partner})
		p.sent[p.stats.TxPDUs%maxTx] = now
		p.stats.TxPDUs++
		p.told = actor
		p.tx = now + slowTime
		if p.partner.State&Timeout != 0 || p.status != StatusCurrent {
			p.tx = now + fastTime
		}
	}
}

// Next is when Run has something to do again, if nothing happens before.
func (g *Group) Next(now int64) int64 {
	next := now + slowTime
	for _, p := range g.ports {
		if p.status != StatusDefaulted {
			next = min(next, p.rx)
		}
		if p.mayTx() {
			due := p.tx
			if !p.told.equal(p.Actor()) {
				due = now
			}
			next = min(next, max(due, p.free()))
		}
	}
	if g.dirty {
		next = now
	}
	return max(next, now)
}

// attach decides which links belong to the aggregate: those whose partners are the same system and have the
// same key as the lead's, which is the working link or the one with the best priority.
func (g *Group) attach() {
	g.dirty = false
	var working *Port // carries traffic, and so says who the partner is
	for _, p := range g.ports {
		if p.status == StatusCurrent && p.attached && p.partner.State&Sync != 0 {
			working = p
			break
		}
	}
	var lead *Port
	for _, p := range g.ports {
		p.loop = p.status != StatusDefaulted && p.partner.System == g.cfg.System
		p.attached = false
		switch {
		case p.loop:
		case p.status == StatusDefaulted:
			p.attached = g.cfg.Fallback
		default:
			if working != nil && working.partner.System != p.partner.System {
				continue
			}
			p.attached = true
			if lead == nil || p.better(lead) {
				lead = p
			}
		}
	}
	g.negotiated = lead != nil
	if lead == nil {
		return
	}
	for _, p := range g.ports {
		p.attached = p.attached && p.status != StatusDefaulted &&
			p.partner.Key == lead.partner.Key && p.partner.System == lead.partner.System
	}
}

// better tells whether p is to lead rather than q. The side with the better system priority, or address, says what
// priority a link has (IEEE 802.1AX-2020 6.6.1); a partner that has the link in sync counts more.
func (p *Port) better(q *Port) bool {
	if a, b := p.partner.State&Sync != 0, q.partner.State&Sync != 0; a != b {
		return a
	}
	a, b := p.priority(), q.priority()
	return bytes.Compare(a[:], b[:]) < 0
}

// priority orders links as the side does that decides.
func (p *Port) priority() [12]byte {
	i, o := p.Actor(), p.partner
	if o.SystemPriority < i.SystemPriority ||
		o.SystemPriority == i.SystemPriority && bytes.Compare(o.System[:], i.System[:]) < 0 {
		i, o = o, i
	}
	var b [12]byte
	b[0], b[1] = byte(i.PortPriority>>8), byte(i.PortPriority)
	b[2], b[3] = byte(i.Port>>8), byte(i.Port)
	copy(b[4:], o.System[:])
	b[10], b[11] = byte(o.Key>>8), byte(o.Key)
	return b
}
