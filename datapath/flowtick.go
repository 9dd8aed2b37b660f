package datapath

// tendFlows is what is done for flows once a second: threads that sleep and have counted packets tell
// the rules, then those whose time is over go. d.mu is not held.
func (d *Datapath) tendFlows() {
	for _, t := range d.running() {
		if t.fl.pass.due.Load() {
			t.syncFlows()
		}
	}
	now := d.clock.now()
	for _, b := range d.Bridges() {
		b.tables.Expire(now)
	}
}
