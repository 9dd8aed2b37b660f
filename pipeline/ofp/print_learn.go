package ofp

import (
	"github.com/gvswitch/gvswitch/flow"
)

func appendLearn(b []byte, l *Learn, n Names) []byte {
	b = AppendTable(append(b, "learn(table="...), l.Table, n)
	b = appendSome(b, ",idle_timeout=", l.Idle)
	b = appendSome(b, ",hard_timeout=", l.Hard)
	b = appendSome(b, ",fin_idle_timeout=", l.FinIdle)
	b = appendSome(b, ",fin_hard_timeout=", l.FinHard)
	if l.Priority != DefaultPriority {
		b = appendUint(b, ",priority=", uint64(l.Priority))
	}
	if l.Flags&SendFlowRem != 0 {
		b = append(b, ",send_flow_rem"...)
	}
	if l.DeleteLearned {
		b = append(b, ",delete_learned"...)
	}
	if l.Cookie != 0 {
		b = appendHex(append(b, ",cookie="...), l.Cookie)
	}
	if l.Limit != 0 {
		b = appendUint(b, ",limit=", uint64(l.Limit))
	}
	if l.Result.Field != nil {
		b = AppendSubfield(append(b, ",result_dst="...), l.Result)
	}
	for i := range l.Specs {
		b = appendSpec(append(b, ','), &l.Specs[i], n)
	}
	return append(b, ')')
}

// appendSome writes s and v unless v is 0.
func appendSome(b []byte, s string, v uint16) []byte {
	if v == 0 {
		return b
	}
	return appendUint(b, s, uint64(v))
}

func appendSpec(b []byte, s *LearnSpec, n Names) []byte {
	fixed := s.Src.Field == nil
	switch {
	case s.Kind == LearnOutput:
		return AppendSubfield(append(b, "output:"...), s.Src)
	case s.Kind == LearnLoad:
		b = append(b, "load:"...)
		if fixed {
			b = flow.AppendHex(b, s.Value, 0)
		} else {
			b = AppendSubfield(b, s.Src)
		}
		return AppendSubfield(append(b, "->"...), s.Dst)
	case fixed && s.Dst.full():
		b = append(append(b, setName(s.Dst.Field)...), '=')
		return s.Dst.Field.Append(b, s.Value, s.Dst.Field.All(), n)
	}
	b = AppendSubfield(b, s.Dst)
	switch {
	case fixed:
		return flow.AppendHex(append(b, '='), s.Value, 0)
	case s.Src != s.Dst:
		return AppendSubfield(append(b, '='), s.Src)
	}
	return b
}
