package datapath

// bridgeAt is the bridge with a number as the thread sees it, nil if it sees none: a megaflow's notes
// may outlive the bridge that they are about.
func (t *thread) bridgeAt(id uint16) *bridgeRun {
	if int(id) >= len(t.w.bridges) {
		return nil
	}
	return t.w.bridges[id]
}
