package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hotPackages are those that are called for each packet.
var hotPackages = []string{"packet", "packet/vnet", "flow", "tso", "internal/virtio", "internal/virtio/driver", "internal/checksum", "internal/hdr", "internal/mem"}

// textFiles are words in the names of files that are the text form of something.
var textFiles = []string{"text", "string", "format", "parse"}

// What runs per packet returns neither an error nor a text, so a function that uses
// fmt has to: it sets something up, or prints.
func TestNoFmtInHotFunctions(t *testing.T) {
	for _, p := range packages(t) {
		if !slices.Contains(hotPackages, p.short()) {
			continue
		}
		for _, f := range p.source(t, false) {
			text := slices.ContainsFunc(textFiles, func(w string) bool { return strings.Contains(f.name, w) })
			if text || !f.imports("fmt") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, f.name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range hotFmt(parsed) {
				t.Errorf("%s: %s uses fmt and returns neither an error nor a string", f.path, name)
			}
		}
	}
}

// hotFmt names the functions that use fmt and may be hot.
func hotFmt(f *ast.File) []string {
	var names []string
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || returnsErrorOrText(fn.Type) {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "fmt" && !slices.Contains(names, fn.Name.Name) {
				names = append(names, fn.Name.Name)
			}
			return true
		})
	}
	return names
}

func returnsErrorOrText(fn *ast.FuncType) bool {
	if fn.Results == nil {
		return false
	}
	for _, r := range fn.Results.List {
		result := r.Type
		if a, ok := result.(*ast.ArrayType); ok {
			result = a.Elt
		}
		if x, ok := result.(*ast.Ident); ok && (x.Name == "error" || x.Name == "string") {
			return true
		}
	}
	return false
}

func TestHotFmt(t *testing.T) {
	const source = `package p
func New() (int, error) { return 0, fmt.Errorf("") }
func (x T) String() string { return fmt.Sprint(x) }
func Step(x int) int { fmt.Println(x); return x }
`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := hotFmt(f); !slices.Equal(got, []string{"Step"}) {
		t.Errorf("got %v, want Step", got)
	}
}
