package ofp

import (
	"fmt"
	"strings"
)

// learn reads learn's arguments.
func (p *parser) learn(text string) (Action, error) {
	l := Learn{Priority: DefaultPriority, Table: 1}
	for {
		key, value, rest, ok := nextPair(text)
		if !ok {
			return l, nil
		}
		text = rest
		known, err := l.property(key, value, p.names)
		if err == nil && !known {
			var s LearnSpec
			if s, err = p.learnSpec(key, value); err == nil {
				l.Specs = append(l.Specs, s)
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// property reads an argument that says what the learned flow is like; known is false if it is none.
func (l *Learn) property(key, value string, n Names) (known bool, err error) {
	switch key {
	case "table":
		l.Table, err = parseTable(value, key, n)
		if err == nil && l.Table == TableAll {
			err = fmt.Errorf("table: 255 is out of range: tables are 0 to %d", MaxTables-1)
		}
	case "priority":
		l.Priority, err = parse16(value, key)
	case "idle_timeout":
		l.Idle, err = parse16(value, key)
	case "hard_timeout":
		l.Hard, err = parse16(value, key)
	case "fin_idle_timeout":
		l.FinIdle, err = parse16(value, key)
	case "fin_hard_timeout":
		l.FinHard, err = parse16(value, key)
	case "cookie":
		l.Cookie, err = parse64(value, key)
	case "send_flow_rem":
		l.Flags |= SendFlowRem
	case "delete_learned":
		l.DeleteLearned = true
	case "limit":
		l.Limit, err = parse32(value, key)
	case "result_dst":
		if l.Result, err = ParseSubfield(value); err != nil {
			return true, fmt.Errorf("result_dst: %w", err)
		}
		switch {
		case !l.Result.Field.Writable():
			err = fmt.Errorf("result_dst: field %s is read-only", value)
		case l.Result.Bits != 1:
			err = fmt.Errorf("result_dst: %s has %d bits, and must have one", value, l.Result.Bits)
		}
	default:
		return false, nil
	}
	return true, err
}

// learnSpec reads a match ("field", "field=source", "field=value"), "load:source->field" or
// "output:source".
func (p *parser) learnSpec(key, value string) (LearnSpec, error) {
	if dst, err := ParseSubfield(key); err == nil {
		return p.learnMatch(dst, value)
	}
	switch key {
	case "load":
		return learnLoad(value)
	case "output":
		src, err := ParseSubfield(value)
		return LearnSpec{Kind: LearnOutput, Bits: src.Bits, Src: src}, err
	}
	return LearnSpec{}, fmt.Errorf("%q is neither an argument nor a field", key)
}

func (p *parser) learnMatch(dst Subfield, value string) (LearnSpec, error) {
	s := LearnSpec{Kind: LearnMatch, Bits: dst.Bits, Dst: dst}
	if value == "" {
		s.Src = dst
		return s, nil
	}
	src, err := ParseSubfield(value)
	if err == nil {
		if src.Bits != dst.Bits {
			return s, fmt.Errorf("%s has %d bits and %s %d", dst.Field.Name, dst.Bits, value, src.Bits)
		}
		s.Src = src
		return s, nil
	}
	if dst.full() {
		v, mask, err2 := dst.Field.Parse(value, p.names)
		if err2 == nil && mask != dst.Field.All() {
			err2 = fmt.Errorf("%s: a value that is learned has no mask", value)
		}
		if err2 != nil {
			return s, fmt.Errorf("%s: %q is neither a field nor a value: %w", dst.Field.Name, value, err2)
		}
		s.Value = v
		return s, nil
	}
	v, ok := parseWide(value)
	if !ok {
		return s, fmt.Errorf("%s: %q is neither a field nor a number", dst.Field.Name, value)
	}
	s.Value = v
	return s, s.checkValue(value)
}

func (s *LearnSpec) checkValue(text string) error {
	if !fits(s.Value, s.Bits) {
		return fmt.Errorf("%s: %s does not fit into %d bits", s.Dst.Field.Name, text, s.Bits)
	}
	return nil
}

func learnLoad(text string) (LearnSpec, error) {
	s := LearnSpec{Kind: LearnLoad}
	from, to, err := arrow(text)
	if err != nil {
		return s, err
	}
	if from != "" && strings.IndexByte("0123456789+-", from[0]) >= 0 && !strings.Contains(from, "[") {
		v, ok := parseWide(from)
		if !ok {
			return s, fmt.Errorf("load: %q is not a number", from)
		}
		if s.Dst, err = ParseSubfield(to); err != nil {
			return s, err
		}
		s.Value, s.Bits = v, s.Dst.Bits
		return s, s.checkValue(from)
	}
	s.Src, s.Dst, err = subfields(text)
	s.Bits = s.Dst.Bits
	return s, err
}
