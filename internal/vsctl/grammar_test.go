package vsctl

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		line, want string
		local      []LocalOption
	}{
		{line: "show", want: "show"},
		{line: "add-br a -- add-br b", want: "add-br a; add-br b"},
		{line: "-- add-br a -- -- --", want: "add-br a"},
		{line: "--may-exist add-br a", want: "--may-exist add-br a"},
		{line: "add-br a", local: []LocalOption{{Name: "--may-exist"}}, want: "--may-exist add-br a"},
		{line: "--columns=name,type --if-exists list Port", want: "--columns=name,type --if-exists list Port"},
		{line: "", want: "error: missing command name (use --help for help)"},
		{line: "--", want: "error: missing command name (use --help for help)"},
		{line: "--may-exist", want: "error: missing command name (use --help for help)"},
		{line: "-- show", local: []LocalOption{{Name: "--may-exist"}}, want: "error: missing command name (use --help for help)"},
		{line: "nosuch", want: "error: unknown command 'nosuch'; use --help for help"},
		{line: "--may-exist show", want: "error: 'show' command has no '--may-exist' option"},
		{line: "--may add-br a", want: "error: 'add-br' command has no '--may' option"},
		{line: "--id get Port p", want: "error: missing argument to '--id' option on 'get' command"},
		{line: "--may-exist=1 add-br a", want: "error: '--may-exist' option on 'add-br' does not accept an argument"},
		{line: "--id=@a --id=@b get Port p", want: "error: '--id=@b' option specified multiple times"},
		{line: "set Port p", want: "error: 'set' command requires at least 3 arguments"},
		{line: "del-br a b", want: "error: 'del-br' command takes at most 1 arguments"},
		{line: "del-br a --if-exists", want: "error: 'del-br' command takes at most 1 arguments (note that options must precede command names and follow a \"--\" argument)"},
	} {
		commands, err := Parse(strings.Fields(c.line), c.local)
		var texts []string
		for _, command := range commands {
			texts = append(texts, command.String())
		}
		got := strings.Join(texts, "; ")
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.line, got, c.want)
		}
	}
}

// Every command has what the help needs, and its arguments' description agrees with how many it takes.
func TestSyntaxes(t *testing.T) {
	seen := make(map[string]bool)
	for _, s := range All() {
		if seen[s.Name] || Find(s.Name) != s {
			t.Errorf("%s: not the only one of its name", s.Name)
		}
		seen[s.Name] = true
		if s.Brief == "" || s.Group == "" {
			t.Errorf("%s: no help", s.Name)
		}
		words := strings.Fields(s.Args)
		required := 0
		for _, w := range words {
			w = strings.TrimSuffix(w, "...")
			within := strings.HasPrefix(w, "[") && !strings.Contains(w, "]") // the first of several optional words
			if !within && !strings.HasSuffix(w, "]") {
				required++
			}
		}
		// add-bond needs two interfaces, and create and set-controller are as lenient or strict as ovs-vsctl.
		if s.minArgs != required && s.Name != "add-bond" && s.Name != "set-controller" {
			t.Errorf("%s: takes at least %d arguments, but the help says %q", s.Name, s.minArgs, s.Args)
		}
		if many := strings.Contains(s.Args, "..."); many != (s.maxArgs == anyNumber) {
			t.Errorf("%s: takes at most %d arguments, but the help says %q", s.Name, s.maxArgs, s.Args)
		}
	}
}

func TestLookup(t *testing.T) {
	s := schema(t)
	for typed, want := range map[string]string{
		"Bridge": "Bridge", "br": "Bridge", "open-vswitch": "Open_vSwitch", "n": "NetFlow", "sflow": "sFlow", "int": "Interface",
		"Flow": `error: "Flow" matches multiple table names: Flow_Sample_Collector_Set, Flow_Table`,
		"x":    `error: unknown table "x"`,
		"":     `error: unknown table ""`,
	} {
		table, err := findTable(s, typed)
		got := ""
		if err != nil {
			got = "error: " + err.Error()
		} else {
			got = table.Name
		}
		if got != want {
			t.Errorf("table %q: got %s, want %s", typed, got, want)
		}
	}
	for typed, want := range map[string]string{
		"ofport": "ofport", "ofport_r": "ofport_request", "mac-in": "mac_in_use", "OTHER-config": "other_config",
		"ingress": `error: Interface contains more than one column whose name matches "ingress": ingress_policing_burst, ingress_policing_kpkts_burst, ingress_policing_kpkts_rate, ingress_policing_rate`,
		"_uuid":   `error: Interface does not contain a column whose name matches "_uuid"`,
	} {
		column, err := findColumn(s.Tables["Interface"], typed)
		got := ""
		if err != nil {
			got = "error: " + err.Error()
		} else {
			got = column.Name
		}
		if got != want {
			t.Errorf("column %q: got %s, want %s", typed, got, want)
		}
	}
	for s, want := range map[string]bool{"1234": true, "123": false, "1234567": true, "12345678-": true, "12345678a": false, "x234": false, "12345678-1234-1234-1234-123456789abc": true, "12345678-1234-1234-1234-123456789abcd": false} {
		if isPartialUUID(s) != want {
			t.Errorf("isPartialUUID(%q) is not %v", s, want)
		}
	}
}
