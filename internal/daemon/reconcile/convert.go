package reconcile

import (
	"reflect"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/internal/daemon/desired"
)

func threadConfig(t *desired.Threads) datapath.ThreadConfig {
	return datapath.ThreadConfig{
		CPUs:       t.CPUs,
		SleepMax:   t.Max,
		SleepMode:  map[desired.SleepMode]datapath.SleepMode{desired.SleepNever: datapath.BusyPoll, desired.SleepTimed: datapath.Timed}[t.Sleep],
		Assign:     map[string]datapath.Assign{"group": datapath.Group, "roundrobin": datapath.RoundRobin}[t.Assign],
		RxqIsolate: t.Isolate,
	}
}

func bridgeConfig(c *desired.BridgeConfig) datapath.BridgeConfig {
	out := datapath.BridgeConfig{MACTableSize: c.MACTableSize, MACAging: c.MACAging, ForwardBPDU: c.ForwardBPDU, FloodVLANs: c.FloodVLANs}
	if c.Secure || c.FlowFile != "" { // no packet goes before the file is loaded
		out.FailMode = datapath.FailSecure
	}
	return out
}

func datapathConfig(c *desired.PortConfig) datapath.PortConfig {
	return datapath.PortConfig{
		VLANMode: map[string]datapath.VLANMode{
			"access": datapath.VLANAccess, "trunk": datapath.VLANTrunk,
			"native-tagged": datapath.VLANNativeTagged, "native-untagged": datapath.VLANNativeUntagged,
			"dot1q-tunnel": datapath.VLANDot1qTunnel,
		}[c.VLANMode],
		Tag:          c.Tag,
		Trunks:       c.Trunks,
		CVLANs:       c.CVLANs,
		QinQType:     c.QinQType,
		PriorityTags: map[string]datapath.PriorityTags{"if-nonzero": datapath.PriorityIfNonzero, "always": datapath.PriorityAlways}[c.Priority],
		Protected:    c.Protected,
	}
}

func sameThreads(a, b *desired.Threads) bool { return reflect.DeepEqual(a, b) }

// sameConfig reports whether b asks for nothing that a did not ask for. The number that a port has is no request.
func sameConfig(a, b *desired.State) bool {
	return a.NextCfg == b.NextCfg && reflect.DeepEqual(a.Threads, b.Threads) && reflect.DeepEqual(a.Flows, b.Flows) && reflect.DeepEqual(comparable(a), comparable(b))
}

// comparable copies what Apply looks at, without the numbers that it brought about itself.
func comparable(s *desired.State) []desired.Bridge {
	out := make([]desired.Bridge, len(s.Bridges))
	for i, b := range s.Bridges {
		out[i] = *b
		out[i].Ports = make([]*desired.Port, len(b.Ports))
		for j, p := range b.Ports {
			q := *p
			if p.Iface != nil {
				iface := *p.Iface
				iface.OFPortBefore = 0
				q.Iface = &iface
			}
			q.Refused = nil
			out[i].Ports[j] = &q
		}
	}
	return out
}
