package lint

import (
	"strings"
	"testing"
)

// maxLines is how long a file that is no test may be: one idea a file reads better.
const maxLines = 500

func TestUnsafeOnlyInUnsafeFiles(t *testing.T) {
	for _, p := range packages(t) {
		for _, f := range p.source(t, true) {
			// A platform may follow: ring_unsafe_amd64.go, ring_unsafe_test.go.
			if f.imports("unsafe") && !strings.Contains(f.name, "_unsafe_") && !strings.HasSuffix(f.name, "_unsafe.go") {
				t.Errorf("%s imports unsafe: only files named *_unsafe.go may", f.path)
			}
		}
	}
}

func TestNoCgo(t *testing.T) {
	for _, p := range packages(t) {
		for _, f := range p.source(t, true) {
			if f.imports("C") {
				t.Errorf("%s uses cgo", f.path)
			}
		}
	}
}

func TestPackageComments(t *testing.T) {
	for _, p := range packages(t) {
		if p.Doc == "" && len(p.GoFiles) > 0 {
			t.Errorf("%s has no package comment", p.short())
		}
	}
}

func TestFileLength(t *testing.T) {
	for _, p := range packages(t) {
		for _, f := range p.source(t, false) {
			if f.lines > maxLines {
				t.Errorf("%s has %d lines, more than %d", f.path, f.lines, maxLines)
			}
		}
	}
}
