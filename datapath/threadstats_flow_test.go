package datapath

import "testing"

// Packets that no megaflow was for are misses, and those that one was found for are hits of a table.
func TestThreadStatsOfFlows(t *testing.T) {
	d, b := newSwitch(t)
	if err := d.SetFlowConfig(FlowConfig{NoCache: true}); err != nil {
		t.Fatal(err)
	}
	_, d1 := plug(t, b, "p1", trunk)
	_, d2 := plug(t, b, "p2", trunk)
	delFlows(t, b, "")
	addFlows(t, b, "udp,tp_dst=5,actions=drop", "priority=1,actions=2")
	d.ClearThreadStats()
	for i := range 10 {
		d1.send(udp(9, 1, 1, 80))
		want(t, "sent", got(t, d, d1, d2), "0 1 ")
		if s := d.Threads()[0]; s.Misses != 1 || s.TableHits != uint64(i) || s.CacheHits != 0 {
			t.Errorf("packet %d: %d misses, %d table hits, %d cache hits", i, s.Misses, s.TableHits, s.CacheHits)
		}
	}
}
