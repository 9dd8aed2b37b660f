package flowtest

import (
	"flag"
	"path/filepath"
	"testing"
)

var (
	update = flag.Bool("update", false, "rewrite what the cases expect, for review")
	only   = flag.String("only", "*", "files of cases that are run")
)

// least is how many cases there are at the least.
const least = 300

func TestCases(t *testing.T) {
	s := New(Config{})
	n := 0
	for _, path := range files(t) {
		cases, err := Read(path)
		if err != nil {
			t.Error(err)
			continue
		}
		var updates []Update
		for _, c := range cases {
			n++
			r, err := c.Run(s)
			if err != nil {
				t.Error(err)
			}
			for _, d := range r.Differences {
				t.Error(d)
			}
			updates = append(updates, r.Updates...)
		}
		if *update && len(updates) > 0 {
			if err := Rewrite(path, updates); err != nil {
				t.Error(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if *only == "*" && n < least {
		t.Errorf("%d cases, want %d", n, least)
	}
}

func files(t *testing.T) []string {
	t.Helper()
	l, err := filepath.Glob("testdata/" + *only + ".flow")
	if err != nil || len(l) == 0 {
		t.Fatalf("%d files of cases, %v", len(l), err)
	}
	return l
}
