package flowtest

import (
	"math/bits"
	"strconv"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/odp"
)

var _ Explainer = (*Sim)(nil)

// Explain implements Explainer. Ports of the datapath are shown by their numbers in OpenFlow.
func (s *Sim) Explain(at PortRef, f Frame) (Explanation, error) {
	if len(f.Bytes) < packet.MinFrame || len(f.Bytes) > packet.MaxFrame {
		return Explanation{}, nil
	}
	r := s.bridges[at.Bridge].TraceFrame(uint32(at.Number), f.Bytes, nil)
	m := flow.Match{Key: r.Key, Mask: r.Mask}
	if r.InPort != nil {
		m.Key.SetInPort(uint32(r.InPort.ID()))
		m.Mask.SetInPort(^uint32(0)) // in which port it came is always asked
	}
	for i := range m.Key {
		m.Key[i] &= m.Mask[i]
	}
	n := portNumbers{s}
	return Explanation{
		Megaflow: string(odp.AppendMegaflow(nil, &m, n)),
		Actions:  string(odp.AppendActions(nil, r.Actions, &r.Key, n)),
		Reason:   r.Why.String(),
		Looks: func(name string) (int, bool) {
			f := flow.FieldByName(name)
			if f == nil {
				return 0, false
			}
			v := f.Get(&r.Mask)
			return bits.OnesCount64(v.Hi) + bits.OnesCount64(v.Lo), true
		},
	}, nil
}

type portNumbers struct{ s *Sim }

// PortName implements odp.Names.
func (n portNumbers) PortName(id uint32) string {
	for at, p := range n.s.ports {
		if p.port.ID() == int(id) {
			return strconv.Itoa(at.Number)
		}
	}
	return ""
}
