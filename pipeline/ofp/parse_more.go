package ofp

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gvswitch/gvswitch/flow"
)

// Reasons of Controller (OpenFlow 1.5, ofp_packet_in_reason).
const reasonAction = 1

var reasons = [...]string{"no_match", "action", "invalid_ttl", "action_set", "group", "packet_out"}

// controller reads nothing, "BYTES", or a list of arguments.
func (p *parser) controller(text string) (Action, error) {
	c := Controller{MaxLen: 0xffff, Reason: reasonAction}
	if _, ok := flow.ParseDecimal(text); ok {
		v, err := parse16(text, "max_len")
		c.MaxLen = v
		return c, err
	}
	for {
		key, value, rest, ok := nextPair(text)
		if !ok {
			return c, nil
		}
		text = rest
		var err error
		switch key {
		case "max_len":
			c.MaxLen, err = parse16(value, key)
		case "id":
			c.ID, err = parse16(value, key)
		case "meter_id":
			c.Meter, err = parse32(value, key)
		case "pause":
			c.Pause = true
		case "userdata":
			c.Userdata, err = parseHexBytes(value, key)
		case "reason":
			c.Reason, err = reason(value)
		default:
			err = fmt.Errorf("there is no argument %q", key)
		}
		if err != nil {
			return nil, err
		}
	}
}

func reason(name string) (uint8, error) {
	for i, r := range reasons {
		if lower(name) == r {
			return uint8(i), nil
		}
	}
	return parse8(name, "reason")
}

// hashFields and algorithms are what bundle and multipath know.
var (
	hashFields     = []string{"eth_src", "symmetric_l4", "symmetric_l3l4", "symmetric_l3l4+udp", "nw_src", "nw_dst", "symmetric_l3"}
	bundleMethods  = []string{"active_backup", "hrw"}
	multipathTypes = []string{"modulo_n", "hash_threshold", "hrw", "iter_hash"}
)

// oneOf is word in small letters if it is in list.
func oneOf(word, what string, list []string) (string, error) {
	low := lower(word)
	for _, s := range list {
		if s == low {
			return s, nil
		}
	}
	return "", fmt.Errorf("%s: %q is none of %s", what, word, strings.Join(list, ", "))
}

// bundle reads "FIELDS,BASIS,ALGORITHM,ofport[,DST],members:PORT,PORT...".
func (p *parser) bundle(text string, dst bool) (Action, error) {
	var b Bundle
	var w [5]string
	n := 4
	if dst {
		n = 5
	}
	for i := range n {
		w[i], text = nextWord(text, ", ")
	}
	members, text := nextWord(text, ": ")
	if l := lower(members); l != "members" && l != "slaves" {
		return nil, errors.New("arguments are FIELDS,BASIS,ALGORITHM,ofport,members:PORT,...; with bundle_load, a field before members")
	}
	var err error
	if b.Fields, err = oneOf(w[0], "fields", hashFields); err != nil {
		return nil, err
	}
	if b.Basis, err = parse16(w[1], "basis"); err != nil {
		return nil, err
	}
	if b.Algorithm, err = oneOf(w[2], "algorithm", bundleMethods); err != nil {
		return nil, err
	}
	if _, err = oneOf(w[3], "type of member", []string{"ofport"}); err != nil {
		return nil, err
	}
	if dst {
		if b.Dst, err = ParseSubfield(w[4]); err != nil {
			return nil, err
		}
		if b.Dst.Bits < 16 {
			return nil, fmt.Errorf("bundle_load to %s: %d bits cannot hold a port number, which has 16", w[4], b.Dst.Bits)
		}
	}
	for {
		word, rest := nextWord(text, ", []")
		if word == "" {
			return b, nil
		}
		text = rest
		port, ok := flow.ParsePort(word, p.names)
		if !ok {
			return nil, fmt.Errorf("members: there is no port %q", word)
		}
		if port == PortController || port >= PortMax && port < PortInPort {
			return nil, fmt.Errorf("members: port %s cannot be one", word)
		}
		b.Members = append(b.Members, port)
	}
}

// multipath reads "FIELDS,BASIS,ALGORITHM,LINKS,ARG,DST".
func multipath(text string) (Action, error) {
	var m Multipath
	var w [6]string
	for i := range w {
		w[i], text = nextWord(text, ", ")
	}
	if w[5] == "" {
		return nil, errors.New("arguments are FIELDS,BASIS,ALGORITHM,LINKS,ARG,DST")
	}
	var err error
	if m.Fields, err = oneOf(w[0], "fields", hashFields); err != nil {
		return nil, err
	}
	if m.Basis, err = parse16(w[1], "basis"); err != nil {
		return nil, err
	}
	if m.Algorithm, err = oneOf(w[2], "algorithm", multipathTypes); err != nil {
		return nil, err
	}
	links, err := parseMax(w[3], "links", 65535)
	if err == nil && links == 0 {
		err = errors.New("links: there must be one at least")
	}
	if err != nil {
		return nil, err
	}
	m.Links = uint16(links)
	if m.Arg, err = parse32(w[4], "arg"); err != nil {
		return nil, err
	}
	if m.Dst, err = ParseSubfield(w[5]); err != nil {
		return nil, err
	}
	if m.Dst.Bits < 16 && links > 1<<m.Dst.Bits {
		return nil, fmt.Errorf("%d links cannot be told apart by %d bits", links, m.Dst.Bits)
	}
	return m, nil
}

// conjunction reads "ID,CLAUSE/N".
func conjunction(text string) (Action, error) {
	id, rest, _ := strings.Cut(text, ",")
	clause, n, ok := strings.Cut(rest, "/")
	if !ok {
		return nil, errors.New("it is written conjunction(ID,CLAUSE/N)")
	}
	var c Conjunction
	var err error
	if c.ID, err = parse32(strings.TrimSpace(id), "id"); err != nil {
		return nil, err
	}
	k, err := parse8(strings.TrimSpace(clause), "clause")
	if err != nil {
		return nil, err
	}
	if c.N, err = parse8(strings.TrimSpace(n), "number of clauses"); err != nil {
		return nil, err
	}
	switch {
	case c.N < 2 || c.N > 64:
		return nil, fmt.Errorf("there are %d clauses, and there must be 2 to 64", c.N)
	case k < 1 || k > c.N:
		return nil, fmt.Errorf("clause %d is not in 1 to %d", k, c.N)
	}
	c.Clause = k - 1
	return c, nil
}

// checkPktLarger reads "BYTES)->SUBFIELD".
func checkPktLarger(text string) (Action, error) {
	value, to, err := arrow(text)
	if err != nil {
		return nil, err
	}
	var c CheckPktLarger
	if c.Dst, err = ParseSubfield(to); err != nil {
		return nil, err
	}
	if c.Dst.Bits != 1 {
		return nil, fmt.Errorf("%s: the destination has %d bits, and must have one", to, c.Dst.Bits)
	}
	c.Len, err = parse16(strings.TrimSuffix(value, ")"), "length")
	return c, err
}

// finTimeout reads "idle_timeout=SECONDS,hard_timeout=SECONDS".
func finTimeout(text string) (Action, error) {
	var f FinTimeout
	for {
		key, value, rest, ok := nextPair(text)
		if !ok {
			return f, nil
		}
		text = rest
		var err error
		switch key {
		case "idle_timeout":
			f.Idle, err = parse16(value, key)
		case "hard_timeout":
			f.Hard, err = parse16(value, key)
		default:
			err = fmt.Errorf("there is no argument %q", key)
		}
		if err != nil {
			return nil, err
		}
	}
}

// writeMetadata reads "VALUE[/MASK]".
func writeMetadata(text string) (Action, error) {
	value, mask, masked := strings.Cut(text, "/")
	w := WriteMetadata{Mask: 1<<64 - 1}
	var err error
	if masked {
		if w.Mask, err = parse64(mask, "mask"); err != nil {
			return nil, err
		}
	}
	w.Value, err = parse64(value, "metadata")
	return w, err
}
