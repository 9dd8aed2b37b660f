package reconcile

import (
	"reflect"
	"slices"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/internal/daemon/desired"
)

// MirrorResult is a mirror that runs.
type MirrorResult struct {
	UUID   ovsdb.UUID
	name   string
	bridge *datapath.Bridge
}

// Stats is what the mirror was given.
func (m *MirrorResult) Stats() datapath.MirrorStats {
	s, _ := m.bridge.MirrorStats(m.name)
	return s
}

// applyMirrors gives the bridge its mirrors, which name ports that may come later.
func (b *bridge) applyMirrors(want []*desired.Mirror) {
	var list []datapath.MirrorConfig
	for _, m := range want {
		if m.Wrong {
			if i := slices.IndexFunc(b.mirrors, func(c datapath.MirrorConfig) bool { return c.Name == m.Name }); i >= 0 {
				list = append(list, b.mirrors[i])
			}
			continue
		}
		list = append(list, datapath.MirrorConfig{
			Name: m.Name, All: m.All, SrcPorts: m.Src, DstPorts: m.Dst, VLANs: m.VLANs, Filter: m.Filter,
			OutPort: m.OutPort, OutVLAN: m.OutVLAN, SnapLen: m.SnapLen,
		})
	}
	if b.mirrorErr == "" && reflect.DeepEqual(list, b.mirrors) {
		return
	}
	if err := b.dp.SetMirrors(list); err != nil {
		if err.Error() != b.mirrorErr {
			b.log.Error("mirrors not changed", "error", err)
		}
		b.mirrorErr = err.Error()
		return
	}
	b.mirrors, b.mirrorErr = list, ""
}

// addMirrors adds those of a bridge that run.
func (r *Results) addMirrors(want *desired.Bridge, b *bridge) {
	if b == nil || b.mirrorErr != "" {
		return
	}
	for _, m := range want.Mirrors {
		if _, runs := b.dp.MirrorStats(m.Name); !runs {
			continue
		}
		r.Mirrors = append(r.Mirrors, MirrorResult{UUID: m.UUID, name: m.Name, bridge: b.dp})
	}
}
