package main

import (
	"fmt"
	"strings"
	"testing"
)

var testOptions = []option{
	{name: "db", arg: needsArg},
	{name: "timeout", short: 't', arg: needsArg},
	{name: "no-wait"},
	{name: "no-headings"},
	{name: "help", short: 'h'},
	{name: "verbose", short: 'v', arg: mayHaveArg},
	{name: "may-exist", local: true},
	{name: "id", arg: needsArg, local: true},
}

func TestGetopt(t *testing.T) {
	for _, c := range []struct {
		line, want string
	}{
		{"show", "[] [] [show]"},
		{"--db=unix:/x --no-wait add-br br0", "[--db=unix:/x --no-wait] [] [add-br br0]"},
		{"--db unix:/x show --no-wait", "[--db=unix:/x] [] [show --no-wait]"},
		{"-t 5 show", "[--timeout=5] [] [show]"},
		{"-t5 show", "[--timeout=5] [] [show]"},
		{"--time=5 show", "[--timeout=5] [] [show]"},
		{"-ht5 show", "[--help --timeout=5] [] [show]"},
		{"-vconsole:off show", "[--verbose=console:off] [] [show]"},
		{"-v show", "[--verbose] [] [show]"},
		{"--verbose show", "[--verbose] [] [show]"},
		{"--may-exist add-br br0", "[] [{--may-exist  false}] [add-br br0]"},
		{"--id=@x get Port p", "[] [{--id @x true}] [get Port p]"},
		{"--no-wait -- --may-exist add-br b", "[--no-wait] [] [--may-exist add-br b]"},
		{"-- add-br b -- del-br c", "[] [] [add-br b -- del-br c]"},
		{"", "[] [] []"},
		{"--frob", "unrecognized option '--frob'"},
		{"--no-", "option '--no-' is ambiguous; possibilities: '--no-wait' '--no-headings'"},
		{"--no-wait=1 show", "option '--no-wait' doesn't allow an argument"},
		{"--db", "option '--db' requires an argument"},
		{"-t", "option requires an argument -- 't'"},
		{"-x show", "invalid option -- 'x'"},
	} {
		p, err := getopt(strings.Fields(c.line), testOptions)
		got := fmt.Sprint(p.globals, p.locals, p.rest)
		got = strings.ReplaceAll(got, "][", "] [")
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.line, got, c.want)
		}
	}
}
