package datapath

import (
	"sync"
	"time"
)

// bonds is the control side of all bonds: a goroutine that follows links, speaks LACP, moves load and tells the
// network where addresses are. Poll threads give it LACPDUs through a queue, and get what it decides by
// snapshots and what it sends through their inboxes.
type bonds struct {
	list   []*Bond // under Datapath.mu
	slow   chan slowFrame
	wakeup chan struct{}
	quit   chan struct{}
	done   sync.WaitGroup
}

func (b *bonds) start(d *Datapath) {
	b.slow = make(chan slowFrame, 64)
	b.wakeup = make(chan struct{}, 1)
	b.quit = make(chan struct{})
	b.done.Go(func() { b.run(d) })
}

func (b *bonds) stop() {
	close(b.quit)
	b.done.Wait()
}

// kick makes the goroutine look at all bonds soon. It never blocks.
func (b *bonds) kick() {
	select {
	case b.wakeup <- struct{}{}:
	default:
	}
}

// later has the network told what poll threads know now of o. Datapath.mu is held.
func (b *bonds) later(o *Bond) {
	o.changed = true
	b.kick()
}

const bondsIdle = time.Hour

func (b *bonds) run(d *Datapath) {
	timer := time.NewTimer(bondsIdle)
	defer timer.Stop()
	for {
		select {
		case <-b.quit:
			return
		case f := <-b.slow:
			d.mu.Lock()
			d.receiveSlow(&f)
			d.mu.Unlock()
		case <-b.wakeup:
		case <-timer.C:
		}
		timer.Reset(d.runBonds())
	}
}

// runBonds does what is due for all bonds and says when to come again.
func (d *Datapath) runBonds() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || len(d.bonds.list) == 0 {
		return bondsIdle
	}
	now := d.clock.now()
	next := now + 1000
	changed := false
	for _, o := range d.bonds.list {
		if d.runBond(o) {
			changed, o.changed = true, true
		}
	}
	if changed {
		d.apply()
	}
	for _, o := range d.bonds.list {
		if o.changed {
			o.changed = false
			o.lesson()
		}
		if o.teachSome() {
			next = now + 2
		}
		for _, m := range o.members {
			next = min(next, m.due)
		}
		if o.group != nil {
			next = min(next, o.group.Next(now))
		}
		if o.cfg.Rebalance > 0 && o.cfg.Mode != BondActiveBackup {
			next = min(next, o.rebalance)
		}
	}
	// A millisecond at least: what is due now and could not be done waits for something.
	return time.Duration(max(next-now, 1)) * time.Millisecond
}

// runBond brings a bond up to date and reports whether poll threads have to know. d.mu is held.
func (d *Datapath) runBond(o *Bond) (changed bool) {
	now := d.clock.now()
	before := o.state()
	if o.group != nil {
		for _, m := range o.members {
			m.lacp.SetCarrier(d.carrier(m.p), now)
		}
		o.group.Run(now, o.sendPDU)
	}
	for _, m := range o.members {
		m.follow(o, d.carrier(m.p) && (m.lacp == nil || m.lacp.MayEnable()), now)
	}
	o.choose()
	o.deal()
	if o.cfg.Rebalance > 0 && o.cfg.Mode != BondActiveBackup && now >= o.rebalance {
		o.rebalance = now + o.cfg.Rebalance.Milliseconds()
		changed = o.balance()
	}
	if after := o.state(); after != before {
		changed = true
		if len(o.members) > 0 {
			d.events.add(event{port: o.members[0].p})
		}
	}
	return changed
}

// bondState is what poll threads, and the database, know of a bond.
type bondState struct {
	active     *bondMember
	negotiated bool
	enabled    uint64 // members, mixed
	current    uint64
}

func (o *Bond) state() bondState {
	s := bondState{active: o.active, negotiated: o.group != nil && o.group.Negotiated()}
	for i, m := range o.members {
		if m.enabled {
			s.enabled = mix(s.enabled, uint64(i)+1)
		}
		if m.lacp != nil {
			s.current = mix(s.current, uint64(m.lacp.Status()))
		}
	}
	return s
}

// carrier tells whether a port's link is up, as far as the switch can know. d.mu is held.
func (d *Datapath) carrier(p *Port) bool {
	if p.gone || !p.cfg.AdminUp || p.of.Down || p.faulted {
		return false
	}
	if p.cfg.Peer != "" {
		q := d.peerOf(p)
		return q != nil && q.cfg.AdminUp && !q.of.Down
	}
	return p.dev != nil && p.dev.Info().Link
}

// follow enables or disables a member when its link has been so for long enough.
func (m *bondMember) follow(o *Bond, link bool, now int64) {
	if link != m.link {
		m.link, m.forced = link, false
	}
	if m.forced {
		return
	}
	if link == m.enabled {
		m.due = noDue
		return
	}
	if m.due == noDue {
		delay := o.cfg.DownDelay
		if link {
			delay = o.cfg.UpDelay
		}
		if m.lacp != nil && o.group.Negotiated() {
			delay = 0 // the protocol has made sure
		}
		m.due = now + delay.Milliseconds()
	}
	if now >= m.due {
		m.enabled, m.due = link, noDue
	}
}

// choose finds the active member: the primary if it can be, else the one that is, else any; if none is enabled, the one
// that will be first, at once, but not one that an operator disabled.
func (o *Bond) choose() {
	was := o.active
	var primary, first, soon *bondMember
	for _, m := range o.members {
		switch {
		case m.enabled && m.p.name == o.cfg.Primary && o.cfg.Mode == BondActiveBackup:
			primary = m
		case m.enabled && first == nil:
			first = m
		case m.link && !m.enabled && !m.forced && (soon == nil || m.due < soon.due):
			soon = m
		}
	}
	switch {
	case primary != nil:
		o.active = primary
	case o.active != nil && o.active.enabled:
	case first != nil:
		o.active = first
	case soon != nil:
		soon.enabled, soon.due = true, noDue
		o.active = soon
	default:
		o.active = nil
	}
	if o.active != was && o.active != nil {
		o.teachAll = true
	}
}

// deal gives the buckets of members that are not enabled to those that are, in turn.
func (o *Bond) deal() {
	var l []*bondMember
	for _, m := range o.members {
		if m.enabled {
			l = append(l, m)
		}
	}
	k := 0
	for i, m := range o.assign {
		if m != nil && m.enabled {
			continue
		}
		o.assign[i] = nil
		if len(l) > 0 {
			o.assign[i] = l[k%len(l)]
			k++
		}
		o.moved[i] = o.moved[i] || m != nil
	}
	if len(l) > o.dealt && o.dealt > 0 {
		o.spread(l)
	}
	o.dealt = len(l)
}

// byID gives the bonds by number, for a snapshot. Datapath.mu is held.
func (b *bonds) byID() []*Bond {
	var l []*Bond
	for _, o := range b.list {
		for len(l) <= int(o.id) {
			l = append(l, nil)
		}
		l[o.id] = o
	}
	return l
}
