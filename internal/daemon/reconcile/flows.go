package reconcile

import (
	"maps"
	"reflect"
	"slices"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/internal/daemon/desired"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// FlowFiles keeps bridges' flows in files.
type FlowFiles interface {
	// Attach makes a bridge's flows those of a file, if there is such a file, and from now on keeps the file as the flows are; "" ends that. A file
	// that cannot be loaded changes nothing, and is left alone.
	Attach(b *BridgeEntry, path string) (loaded bool, err error)
	// Detach ends it for a bridge that will be removed.
	Detach(b *datapath.Bridge)
}

// applyFlowConfig bounds the translated flows. What a command has set stays until the configuration changes.
func (r *Reconciler) applyFlowConfig(s *desired.State) {
	if s.Flows == nil || r.last != nil && r.last.Flows != nil && *r.last.Flows == *s.Flows && r.flowsErr == "" {
		return
	}
	c := r.dp.FlowConfig()
	c.Limit, c.MaxIdle = s.Flows.Limit, s.Flows.MaxIdle
	if err := r.dp.SetFlowConfig(c); err != nil {
		r.flowsErr = "other_config: " + err.Error()
		return
	}
	r.flowsErr = ""
}

// applyFlows gives a bridge the flows that it begins with, and its tables their limits. changed says that what failed is to be tried again.
func (b *bridge) applyFlows(e *BridgeEntry, changed bool) {
	b.limitTables()
	fresh, file, secure := b.fresh, b.cfg.FlowFile, b.cfg.Secure
	b.fresh = false
	if file == "" && b.flowFile == "" && !fresh && secure != b.secure {
		b.resetFlows(secure)
	}
	b.secure = secure
	if b.r.flows == nil || file == b.flowFile && (b.flowErr == "" || !changed) {
		return
	}
	b.flowFile, b.flowErr = file, ""
	loaded, err := b.r.flows.Attach(e, file)
	if err != nil {
		b.flowErr = err.Error()
		b.log.Error("flows not loaded", "file", file, "error", err)
	}
	if !loaded && fresh && !secure {
		b.resetFlows(false)
	}
}

// resetFlows makes the flows what fail_mode says: none, or one that has packets forwarded as a learning switch does. As in Open vSwitch, that happens when the mode changes.
func (b *bridge) resetFlows(secure bool) {
	mods := []ofp.FlowMod{{Command: ofp.Delete, Flow: ofp.Flow{Table: ofp.TableAll}, OutPort: ofp.PortNone, OutGroup: ofp.GroupAny}}
	if !secure {
		mods = append(mods, ofp.FlowMod{Command: ofp.Add, Flow: ofp.Flow{Actions: []ofp.Action{ofp.Output{Port: ofp.PortNormal}}}})
	}
	if _, err := b.dp.Tables().Apply(mods, rules.Options{Now: b.r.dp.Now()}); err != nil {
		b.log.Error("flows not reset", "error", err)
	}
}

// limitTables sets how many flows each table may have.
func (b *bridge) limitTables() {
	limits := map[uint8]int{}
	for _, t := range b.cfg.Tables {
		if t.Limit > 0 {
			limits[t.Number] = t.Limit
		}
	}
	if reflect.DeepEqual(limits, b.limits) || len(limits)+len(b.limits) == 0 {
		return
	}
	for _, t := range slices.Sorted(maps.Keys(b.limits)) {
		if limits[t] == 0 {
			b.dp.Tables().SetLimit(t, 0)
		}
	}
	for t, n := range limits {
		b.dp.Tables().SetLimit(t, n)
	}
	b.limits = limits
}
