package vsctl

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Arity of an option's argument.
type optionKind int

const (
	flagOption     optionKind = iota // --name
	valueOption                      // --name=VALUE
	optionalOption                   // --name[=VALUE]
)

// anyNumber as the largest number of arguments means no limit.
const anyNumber = math.MaxInt

// Option is an option of one command, as it stands before the command's name.
type Option struct {
	Name string // with its dashes
	kind optionKind
}

// TakesValue reports whether the option is written --name=VALUE.
func (o Option) TakesValue() bool { return o.kind == valueOption }

// Syntax is what is known of a command before it is used.
type Syntax struct {
	Name    string
	Args    string // e.g. "BRIDGE PORT [COLUMN[:KEY]=VALUE]..."
	Brief   string // what it does, for help
	Group   string // heading in the help
	Options []Option

	minArgs, maxArgs int

	// prepare checks what can be checked with the schema alone and says which columns the command reads.
	prepare func(*plan, *Command) error
	// run does it. It may be run again on newer data.
	run func(*run, *Command) error
}

// option returns the description of the named option, or nil.
func (s *Syntax) option(name string) *Option {
	if i := slices.IndexFunc(s.Options, func(o Option) bool { return o.Name == name }); i >= 0 {
		return &s.Options[i]
	}
	return nil
}

// Command is a use of a command.
type Command struct {
	Syntax  *Syntax
	Args    []string
	options map[string]string
}

// has reports whether the option was given.
func (c *Command) has(option string) bool {
	_, ok := c.options[option]
	return ok
}

// String returns the command as it was typed, options first and sorted.
func (c *Command) String() string {
	words := make([]string, 0, len(c.options)+1+len(c.Args))
	for name, value := range c.options {
		if value != "" {
			name += "=" + value
		}
		words = append(words, name)
	}
	slices.Sort(words)
	words = append(words, c.Syntax.Name)
	return strings.Join(append(words, c.Args...), " ")
}

// LocalOption is an option that stood among the global ones and belongs to the first command.
type LocalOption struct {
	Name, Value string
	HasValue    bool
}

var errNoCommand = errors.New("missing command name (use --help for help)")

// Parse splits args, what follows the global options, into commands at each "--". local belongs to the first of them.
func Parse(args []string, local []LocalOption) ([]*Command, error) {
	var commands []*Command
	for len(args) > 0 {
		words := args
		if end := slices.Index(args, "--"); end >= 0 {
			words, args = args[:end], args[end+1:]
		} else {
			args = nil
		}
		if len(words) == 0 {
			if len(local) > 0 {
				return nil, errNoCommand
			}
			continue
		}
		c, err := parseCommand(words, local)
		if err != nil {
			return nil, err
		}
		commands, local = append(commands, c), nil
	}
	if len(commands) == 0 {
		return nil, errNoCommand
	}
	return commands, nil
}

// parseCommand parses the words of one command: options, name, arguments.
func parseCommand(words []string, local []LocalOption) (*Command, error) {
	c := &Command{options: make(map[string]string)}
	given := make(map[string]bool) // option name -> has a value
	add := func(typed, name, value string, hasValue bool) error {
		if _, twice := given[name]; twice {
			return fmt.Errorf("'%s' option specified multiple times", typed)
		}
		given[name], c.options[name] = hasValue, value
		return nil
	}
	for _, o := range local {
		if err := add(o.Name, o.Name, o.Value, o.HasValue); err != nil {
			return nil, err
		}
	}
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		name, value, hasValue := strings.Cut(words[0], "=")
		if err := add(words[0], name, value, hasValue); err != nil {
			return nil, err
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return nil, errNoCommand
	}
	if c.Syntax = Find(words[0]); c.Syntax == nil {
		return nil, fmt.Errorf("unknown command '%s'; use --help for help", words[0])
	}
	c.Args = words[1:]
	if err := c.checkOptions(given); err != nil {
		return nil, err
	}
	return c, c.checkArity()
}

func (c *Command) checkOptions(given map[string]bool) error {
	names := make([]string, 0, len(given))
	for name := range given {
		names = append(names, name)
	}
	slices.Sort(names) // so that of two mistakes it is always the same that is told
	for _, name := range names {
		o := c.Syntax.option(name)
		switch {
		case o == nil:
			return fmt.Errorf("'%s' command has no '%s' option", c.Syntax.Name, name)
		case o.kind == valueOption && !given[name]:
			return fmt.Errorf("missing argument to '%s' option on '%s' command", name, c.Syntax.Name)
		case o.kind == flagOption && given[name]:
			return fmt.Errorf("'%s' option on '%s' does not accept an argument", name, c.Syntax.Name)
		}
	}
	return nil
}

func (c *Command) checkArity() error {
	s := c.Syntax
	switch n := len(c.Args); {
	case n < s.minArgs:
		return fmt.Errorf("'%s' command requires at least %d arguments", s.Name, s.minArgs)
	case n <= s.maxArgs:
		return nil
	case slices.ContainsFunc(c.Args, func(a string) bool { return strings.HasPrefix(a, "-") }):
		return fmt.Errorf(`'%s' command takes at most %d arguments (note that options must precede command names and follow a "--" argument)`, s.Name, s.maxArgs)
	default:
		return fmt.Errorf("'%s' command takes at most %d arguments", s.Name, s.maxArgs)
	}
}
