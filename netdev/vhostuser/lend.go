package vhostuser

// lendAnew has the queues lend or copy as the port is set now. No frame is held up for it: a queue looks at each
// burst, and no loan outlives the burst. Queues that are made while this waits for the peer's turn know already.
func (p *peer) lendAnew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.d.mu.Lock()
	lend := p.d.set.zeroCopy
	p.d.mu.Unlock()
	for _, r := range p.rings {
		if r.rx != nil {
			r.rx.lend.Store(lend)
		}
	}
}
