package main

import (
	"fmt"
	"strings"

	"github.com/gvswitch/gvswitch/internal/vsctl"
)

// argKind says whether an option has an argument.
type argKind int

const (
	noArg argKind = iota
	needsArg
	mayHaveArg
)

// option is one that may stand before the first command.
type option struct {
	name  string // without dashes
	short byte   // 0 if it has no short form
	arg   argKind
	local bool // it belongs to the first command
}

// parsed is a command line taken apart.
type parsed struct {
	globals []string            // each as --name or --name=value
	locals  []vsctl.LocalOption // options of the first command
	rest    []string            // from the first word that is no option, without a leading "--"
}

// getopt parses as getopt_long(3) does for ovs-vsctl, which the flag package does not: options end at the first word that is none; a long
// name may be abbreviated; an argument may be the next word, or follow a short option directly.
func getopt(args []string, options []option) (parsed, error) {
	var p parsed
	for len(args) > 0 {
		word := args[0]
		switch {
		case word == "--":
			p.rest = args[1:]
			return p, nil
		case strings.HasPrefix(word, "--"):
			n, err := p.long(args, options)
			if err != nil {
				return p, err
			}
			args = args[n:]
		case strings.HasPrefix(word, "-") && word != "-":
			n, err := p.short(args, options)
			if err != nil {
				return p, err
			}
			args = args[n:]
		default:
			p.rest = args
			return p, nil
		}
	}
	return p, nil
}

// long takes a long option off args and returns how many words it was.
func (p *parsed) long(args []string, options []option) (int, error) {
	name, value, hasValue := strings.Cut(args[0][2:], "=")
	o, err := match(name, options)
	if err != nil {
		return 0, err
	}
	n := 1
	switch {
	case o.arg == noArg && hasValue:
		return 0, fmt.Errorf("option '--%s' doesn't allow an argument", o.name)
	case o.arg == needsArg && !hasValue:
		if len(args) < 2 {
			return 0, fmt.Errorf("option '--%s' requires an argument", o.name)
		}
		value, hasValue, n = args[1], true, 2
	}
	p.add(o, value, hasValue)
	return n, nil
}

// short takes a word of short options off args.
func (p *parsed) short(args []string, options []option) (int, error) {
	for letters := args[0][1:]; letters != ""; {
		o := byLetter(letters[0], options)
		if o == nil {
			return 0, fmt.Errorf("invalid option -- '%c'", letters[0])
		}
		letters = letters[1:]
		switch {
		case o.arg == noArg:
			p.add(o, "", false)
		case letters != "":
			p.add(o, letters, true)
			return 1, nil
		case o.arg == mayHaveArg:
			p.add(o, "", false)
			return 1, nil
		case len(args) < 2:
			return 0, fmt.Errorf("option requires an argument -- '%c'", o.short)
		default:
			p.add(o, args[1], true)
			return 2, nil
		}
	}
	return 1, nil
}

func (p *parsed) add(o *option, value string, hasValue bool) {
	if o.local {
		p.locals = append(p.locals, vsctl.LocalOption{Name: "--" + o.name, Value: value, HasValue: hasValue})
		return
	}
	word := "--" + o.name
	if hasValue {
		word += "=" + value
	}
	p.globals = append(p.globals, word)
}

// match finds the option that name means: its full name or an abbreviation that fits no other.
func match(name string, options []option) (*option, error) {
	var found *option
	for i := range options {
		o := &options[i]
		if o.name == name {
			return o, nil
		}
		if !strings.HasPrefix(o.name, name) {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("option '--%s' is ambiguous; possibilities: %s", name, possibilities(name, options))
		}
		found = o
	}
	if found == nil {
		return nil, fmt.Errorf("unrecognized option '--%s'", name)
	}
	return found, nil
}

func possibilities(prefix string, options []option) string {
	var names []string
	for _, o := range options {
		if strings.HasPrefix(o.name, prefix) {
			names = append(names, "'--"+o.name+"'")
		}
	}
	return strings.Join(names, " ")
}

func byLetter(c byte, options []option) *option {
	for i := range options {
		if options[i].short == c {
			return &options[i]
		}
	}
	return nil
}
