package ovsdb

// parser takes an object's members apart and remembers the first error, like
// OVS's own, whose messages it gives: members that nobody asked for are errors.
type parser struct {
	name string
	obj  map[string]any
	json any
	used map[string]bool
	err  *Error
}

type presence bool

const (
	required presence = true
	optional presence = false
)

func newParser(v any, name string) (*parser, error) {
	obj, ok := v.(map[string]any)
	if !ok {
		return nil, syntaxError(v, "", "Parsing %s failed: Object expected.", name)
	}
	return &parser{name: name, obj: obj, json: v, used: make(map[string]bool)}, nil
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		e := newError("", format, args...)
		p.err = syntaxError(p.json, "", "Parsing %s failed: %s", p.name, e.Details)
	}
}

func (p *parser) any(member string, need presence) (any, bool) {
	v, ok := p.obj[member]
	p.used[member] = true
	if !ok && need == required {
		p.fail("Required '%s' member is missing.", member)
	}
	return v, ok
}

// typed returns a member of type T, and whether it is there.
func typed[T any](p *parser, member string, need presence) (T, bool) {
	v, ok := p.any(member, need)
	t, right := v.(T)
	if ok && !right {
		p.fail("Type mismatch for member '%s'.", member)
	}
	return t, ok && right
}

func (p *parser) str(member string, need presence) string {
	s, _ := typed[string](p, member, need)
	return s
}

func (p *parser) integer(member string, otherwise int64) int64 {
	v, ok := p.any(member, optional)
	if !ok {
		return otherwise
	}
	n, ok := asInteger(v)
	if !ok {
		p.fail("Type mismatch for member '%s'.", member)
	}
	return n
}

func (p *parser) real(member string, otherwise float64) float64 {
	v, ok := p.any(member, optional)
	if !ok {
		return otherwise
	}
	n, ok := asReal(v)
	if !ok {
		p.fail("Type mismatch for member '%s'.", member)
	}
	return n
}

// finish returns the first error; a member that was not asked for is one.
func (p *parser) finish() error {
	if p.err == nil {
		for m := range p.obj {
			if !p.used[m] {
				p.fail("Member '%s' is present but not allowed here.", m)
			}
		}
	}
	if p.err != nil {
		return p.err
	}
	return nil
}
