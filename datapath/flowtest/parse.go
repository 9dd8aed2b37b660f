package flowtest

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// Read reads a file of cases. An error names file and line.
func Read(path string) ([]*Case, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("flowtest: %w", err)
	}
	return Parse(path, string(b))
}

// Parse reads the text of a file called path.
func Parse(path, text string) ([]*Case, error) {
	p := &parser{path: path, lets: map[string]string{}}
	for _, l := range logicalLines(text) {
		if err := p.line(l); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, l.number, err)
		}
	}
	if err := p.finish(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p.cases, nil
}

// logical is a line with those that continue it.
type logical struct {
	number, last int // first and last line
	indented     bool
	text         string
}

func logicalLines(text string) []logical {
	var all []logical
	open := false
	for i, l := range strings.Split(text, "\n") {
		more := strings.HasSuffix(l, `\`)
		l = strings.TrimSuffix(l, `\`)
		trimmed := strings.TrimSpace(l)
		switch {
		case open:
			last := &all[len(all)-1]
			last.text += trimmed
			last.last = i + 1
		case trimmed == "" || trimmed[0] == '#':
			continue
		default:
			all = append(all, logical{i + 1, i + 1, l[0] == ' ' || l[0] == '\t', trimmed})
		}
		open = more
	}
	return all
}

type parser struct {
	path   string
	cases  []*Case
	c      *Case
	from   string
	lets   map[string]string // of the file
	own    map[string]string // of the case
	bridge string
	step   *Step // that indented lines belong to
}

var variable = regexp.MustCompile(`\$\w+`)

// expand replaces variables.
func (p *parser) expand(text string) (string, error) {
	for range 8 {
		missing := ""
		out := variable.ReplaceAllStringFunc(text, func(name string) string {
			if v, ok := p.own[name[1:]]; ok {
				return v
			}
			v, ok := p.lets[name[1:]]
			if !ok {
				missing = name
			}
			return v
		})
		if missing != "" {
			return "", fmt.Errorf("%s: nothing was said to be that", missing)
		}
		if out == text {
			return out, nil
		}
		text = out
	}
	return "", fmt.Errorf("%q: names itself", text)
}

func (p *parser) line(l logical) error {
	text, err := p.expand(l.text)
	if err != nil {
		return err
	}
	word, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	if l.indented {
		return p.indented(l, text, word, rest)
	}
	p.step = nil
	switch word {
	case "from":
		p.from = rest
		if p.c != nil && len(p.c.Steps) == 0 {
			p.c.From = rest
		}
		return nil
	case "let":
		name, value, ok := strings.Cut(rest, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return fmt.Errorf("let %s: not NAME = TEXT", rest)
		}
		m := p.lets
		if p.c != nil {
			m = p.own
		}
		m[name] = strings.TrimSpace(value)
		return nil
	case "case":
		if err := p.finish(); err != nil {
			return err
		}
		p.c = &Case{File: p.path, Line: l.number, Name: rest, From: p.from, Bridges: []Bridge{{Name: "br0", Options: map[string]string{}}}}
		p.cases = append(p.cases, p.c)
		p.own, p.bridge = map[string]string{}, "br0"
		return nil
	}
	if p.c == nil {
		return fmt.Errorf("%s: stands before any case", word)
	}
	return p.statement(l, word, rest)
}

// finish completes the case that ends here.
func (p *parser) finish() error {
	c := p.c
	if c == nil {
		return nil
	}
	for i := range c.Bridges {
		b := &c.Bridges[i]
		if len(b.Ports) == 0 {
			for n := 1; n <= 4; n++ {
				b.Ports = append(b.Ports, Port{Number: n, Options: map[string]string{}})
			}
		}
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		if err := p.resolve(s); err != nil {
			return err
		}
	}
	return nil
}

// resolve checks that the ports which a step names exist.
func (p *parser) resolve(s *Step) error {
	if s.Kind != KindSend {
		return nil
	}
	if len(s.Expect) == 0 {
		return fmt.Errorf("line %d: says nothing of what comes of the frame", s.Line)
	}
	refs := []PortRef{s.Port}
	for _, e := range s.Expect {
		refs = append(refs, e.Ports...)
	}
	for _, r := range refs {
		if !p.c.has(r) {
			return fmt.Errorf("line %d: port %v: the case has no such port", s.Line, r)
		}
	}
	return nil
}

func (c *Case) has(r PortRef) bool {
	for _, b := range c.Bridges {
		for _, q := range b.Ports {
			if b.Name == r.Bridge && q.Number == r.Number && q.Options["peer"] == "" {
				return true
			}
		}
	}
	return false
}

// String is the port as it is written: only the number on bridge br0.
func (r PortRef) String() string {
	if r.Bridge == "br0" {
		return strconv.Itoa(r.Number)
	}
	return r.Bridge + ":" + strconv.Itoa(r.Number)
}

func parsePort(text string) (PortRef, error) {
	r := PortRef{Bridge: "br0"}
	number := text
	if b, n, ok := strings.Cut(text, ":"); ok {
		r.Bridge, number = b, n
	}
	var err error
	if r.Number, err = strconv.Atoi(number); err != nil {
		return r, fmt.Errorf("port %q: not [BRIDGE:]NUMBER", text)
	}
	return r, nil
}
