package main

import (
	"os"
	"strings"
	"testing"
)

// Rows that do not exist are refused before anything is built.
func TestUnknownRows(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("PATH", dir) // nothing can be built
	err := new(bench).all(t.Context(), []string{"forward", "foo"}, "")
	if err == nil || !strings.Contains(err.Error(), `no rows "foo"`) {
		t.Errorf("error %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	if d := describe(); strings.Count(d, "\n") != len(rows)-1 || !strings.Contains(d, rows[0].what) {
		t.Errorf("%s", d)
	}
}
