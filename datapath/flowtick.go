package datapath

import "slices"

// tendFlows is what is done for flows once a second: threads that sleep and have counted packets tell
// the rules, then those whose time is over go; before any does, all threads say what they have
// counted, for it may be in use. d.mu is not held.
func (d *Datapath) tendFlows() {
	now, bridges := d.clock.now(), d.Bridges()
	over := slices.ContainsFunc(bridges, func(b *Bridge) bool { return b.tables.Expires(now) })
	for _, t := range d.running() {
		if over || t.fl.pass.due.Load() {
			t.syncFlows()
		}
	}
	for _, b := range bridges {
		b.tables.Expire(now)
	}
}
