package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const modulePath = "github.com/gvswitch/gvswitch"

// root is the top of the source tree, as seen from this package.
const root = "../.."

// pkg is what "go list -json" tells of a package of ours.
type pkg struct {
	ImportPath, Dir, Doc      string
	Imports                   []string
	GoFiles, IgnoredGoFiles   []string
	TestGoFiles, XTestGoFiles []string
}

func (p pkg) short() string { return strings.TrimPrefix(p.ImportPath, modulePath+"/") }

// file is one Go file of a package.
type file struct {
	name, path string // base name; path from the top of the tree
	lines      int
	imported   []string
}

func (f file) imports(path string) bool {
	for _, i := range f.imported {
		if i == path {
			return true
		}
	}
	return false
}

// source reads a package's files, those of other architectures and build tags
// included.
func (p pkg) source(t *testing.T, tests bool) []file {
	t.Helper()
	names := append(append([]string{}, p.GoFiles...), p.IgnoredGoFiles...)
	if tests {
		names = append(append(names, p.TestGoFiles...), p.XTestGoFiles...)
	}
	var files []file
	for _, n := range names {
		if !tests && strings.HasSuffix(n, "_test.go") {
			continue // ignored for its build tag
		}
		path := filepath.Join(p.Dir, n)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, b, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		f := file{name: n, path: filepath.Join(p.short(), n), lines: bytes.Count(b, []byte("\n"))}
		for _, i := range parsed.Imports {
			s, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			f.imported = append(f.imported, s)
		}
		files = append(files, f)
	}
	return files
}

var listed = sync.OnceValues(func() ([]pkg, error) {
	cmd := exec.Command("go", "list", "-tags=soak", "-json=ImportPath,Dir,Doc,Imports,GoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = root
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, errors.New("go list: " + err.Error() + ": " + errs.String())
	}
	var all []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

// packages lists all packages of the module.
func packages(t *testing.T) []pkg {
	t.Helper()
	all, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("go list found no packages")
	}
	return all
}
