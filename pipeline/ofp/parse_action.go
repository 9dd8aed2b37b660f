package ofp

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/hdr"
)

// maxDepth is how deep actions may stand in actions, as in Open vSwitch.
const maxDepth = 100

// parser reads one list of actions.
type parser struct {
	names Names
	l4    uint8 // the protocol that the match asks for, 0 if it may be any
	depth int
	out   []Action
}

// ParseActions reads a list of actions ("output:1,set_field:80->tcp_dst"), without prerequisites being
// checked: that is Flow.Check.
func ParseActions(text string, n Names) ([]Action, error) {
	p := parser{names: n}
	err := p.list(text, true, "")
	return p.out, err
}

// l4Proto is the protocol of the match if that is TCP, UDP or SCTP, else 0.
func l4Proto(m *flow.Match) uint8 {
	if m.Mask[flow.WordIP]>>56 == 0xff {
		switch p := m.Key.IPProto(); p {
		case hdr.ProtoTCP, hdr.ProtoUDP, hdr.ProtoSCTP:
			return p
		}
	}
	return 0
}

// list reads the actions in text. Instructions say whether goto_table and its like are allowed;
// outer is the action that the list stands in, "" if none.
func (p *parser) list(text string, instructions bool, outer string) error {
	drop := false
	for {
		key, value, rest, ok := nextPair(text)
		if !ok {
			break
		}
		text = rest
		name := lower(key)
		if name == "drop" {
			drop = true
			continue
		}
		a, err := p.action(name, key, value)
		if err != nil {
			return fmt.Errorf("action %s: %w", key, err)
		}
		p.out = append(p.out, a)
	}
	if drop && len(p.out) > 0 {
		return errors.New("action drop: there is another action beside it")
	}
	return verify(p.out, instructions, outer)
}

// nested reads a list of actions that stands in action outer.
func (p *parser) nested(text, outer string) ([]Action, error) {
	if p.depth >= maxDepth {
		return nil, fmt.Errorf("actions stand in more than %d actions", maxDepth)
	}
	q := parser{names: p.names, l4: p.l4, depth: p.depth + 1}
	err := q.list(text, false, outer)
	return q.out, err
}

// action reads one action; key is its name as it was written, name the same in small letters.
func (p *parser) action(name, key, value string) (Action, error) {
	switch name {
	case "output":
		return p.output(value)
	case "output_reg":
		src, err := ParseSubfield(value)
		return OutputReg{Src: src}, err
	case "controller":
		return p.controller(value)
	case "group":
		id, err := parse32(value, "group")
		return Group{id}, err
	case "enqueue":
		return p.enqueue(value)
	case "bundle", "bundle_load":
		return p.bundle(value, name == "bundle_load")
	case "multipath":
		return multipath(value)
	case "resubmit":
		return p.resubmit(value)
	case "learn":
		return p.learn(value)
	case "conjunction":
		return conjunction(value)
	case "note":
		data, err := parseHexBytes(value, "note")
		return Note{data}, err
	case "sample":
		return p.sample(value)
	case "exit":
		return Exit{}, nil
	case "clone":
		in, err := p.nested(value, name)
		return Clone{in}, err
	case "check_pkt_larger":
		return checkPktLarger(value)
	case "ct":
		return p.ct(value)
	case "ct_clear":
		return CTClear{}, nil
	case "fin_timeout":
		return finTimeout(value)
	case "meter":
		id, err := parse32(value, "meter")
		if err == nil && (id == 0 || id > MeterMax) {
			err = fmt.Errorf("meter %s is not in 1 to %d", value, MeterMax)
		}
		return Meter{id}, err
	case "clear_actions":
		return ClearActions{}, nil
	case "write_actions":
		in, err := p.nested(value, name)
		return WriteActions{in}, err
	case "write_metadata":
		return writeMetadata(value)
	case "goto_table":
		t, err := parseTable(value, "goto_table", p.names)
		return GotoTable{t}, err
	case "apply_actions":
		return nil, errors.New("actions are applied without it")
	case "encap", "decap", "dec_nsh_ttl", "delete_field", "nat", "output_trunc", "unroll_xlate", "debug_recirc", "debug_slow":
		return nil, errors.New("it is not supported")
	}
	if a, err := p.edit(name, value); a != nil || err != nil {
		return a, err
	}
	port, ok := flow.ParsePort(key, p.names)
	if !ok {
		return nil, errors.New("there is no such action, and no port of this name")
	}
	if port == PortNone || port >= PortMax && port < PortInPort {
		return nil, errors.New("this port cannot be sent to")
	}
	return Output{Port: port}, nil
}

// output reads the argument of output: a port, a subfield, or "port=PORT,max_len=BYTES".
func (p *parser) output(value string) (Action, error) {
	if strings.Contains(value, "port") && strings.Contains(value, "max_len") {
		return p.truncated(value)
	}
	if port, ok := flow.ParsePort(value, p.names); ok {
		if port == PortController {
			return Controller{MaxLen: 0xffff, Reason: reasonAction}, nil
		}
		_, err := outPort(value, "output", p.names)
		return Output{Port: port}, err
	}
	src, err := ParseSubfield(value)
	if err != nil {
		return nil, fmt.Errorf("there is no port %q, and no field either", value)
	}
	return OutputReg{Src: src}, nil
}

// truncated reads "port=PORT,max_len=BYTES".
func (p *parser) truncated(text string) (Action, error) {
	o := Output{Port: PortNone}
	for {
		key, value, rest, ok := nextPair(text)
		if !ok {
			break
		}
		text = rest
		var err error
		switch key {
		case "port":
			o.Port, err = outPort(value, key, p.names)
			if err == nil && o.Port >= PortMax && o.Port != PortLocal && o.Port != PortInPort {
				err = fmt.Errorf("port: what goes to %s cannot be cut off", value)
			}
		case "max_len":
			o.MaxLen, err = parse32(value, key)
			if err == nil && o.MaxLen < hdr.EthernetLen {
				err = fmt.Errorf("max_len: %s is less than an Ethernet header, %d", value, hdr.EthernetLen)
			}
		default:
			err = fmt.Errorf("there is no argument %q", key)
		}
		if err != nil {
			return nil, err
		}
	}
	if o.Port == PortNone || o.MaxLen == 0 {
		return nil, errors.New("port and max_len must both be given")
	}
	return o, nil
}

// enqueue reads "PORT:QUEUE", "PORT,QUEUE" or "PORTqQUEUE".
func (p *parser) enqueue(value string) (Action, error) {
	port, queue := nextWord(value, ":q,")
	if port == "" || queue == "" {
		return nil, errors.New("it is written enqueue:PORT:QUEUE or enqueue(PORT,QUEUE)")
	}
	var e Enqueue
	var err error
	if e.Port, err = outPort(port, "port", p.names); err != nil {
		return nil, err
	}
	if e.Port >= PortMax && e.Port != PortLocal && e.Port != PortInPort {
		return nil, fmt.Errorf("port %s has no queues", port)
	}
	e.Queue, err = parse32(queue, "queue")
	return e, err
}

// resubmit reads "PORT", "(PORT,TABLE)", "(,TABLE)" or "(PORT,TABLE,ct)".
func (p *parser) resubmit(value string) (Action, error) {
	r := Resubmit{Port: PortInPort, Table: TableAll}
	port, rest, _ := strings.Cut(value, ",")
	table, rest, _ := strings.Cut(rest, ",")
	ct, _, _ := strings.Cut(rest, ",")
	var err error
	if port != "" {
		var ok bool
		if r.Port, ok = flow.ParsePort(port, p.names); !ok {
			return nil, fmt.Errorf("there is no port %q", port)
		}
	}
	if table != "" {
		if r.Table, err = parseTable(table, "table", p.names); err != nil {
			return nil, err
		}
	}
	if ct != "" && ct != "ct" {
		return nil, fmt.Errorf("there is no argument %q", ct)
	}
	r.CT = ct != ""
	if r.Port == PortInPort && r.Table == TableAll {
		return nil, errors.New("a port or a table must be given")
	}
	return r, nil
}
