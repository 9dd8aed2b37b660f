package virtiouser

import (
	"testing"
)

// Ports of every kind send to each other through a switch.
func TestForward(t *testing.T) {
	for name, o := range map[string]map[string]string{
		"default":      {},
		"simple":       {"mrg_rxbuf": "false", "in_order": "false"},
		"no order":     {"in_order": "false"},
		"no mergeable": {"mrg_rxbuf": "false"},
		"server":       {"server": "true"},
		"apart":        {"any_layout": "false"},
		"indirect":     {"indirect": "true"},
		"small ring":   {"queue_size": "64"},
		"large ring":   {"queue_size": "1024"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, o, nil)
			l.pass(t, 0, 0, 2000, 1514)
			l.pass(t, 1, 0, 2000, 1514)
		})
	}
}
