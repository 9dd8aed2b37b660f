package guest

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// moduleTree finds kernel modules below one /lib/modules/VERSION.
type moduleTree struct {
	files map[string]string // name, with '_' for '-', to path
	order []string          // paths in load order
	seen  map[string]bool
}

func newModuleTree(root string) (*moduleTree, error) {
	m := &moduleTree{files: map[string]string{}, seen: map[string]bool{}}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(p, ".ko") {
			m.files[moduleName(strings.TrimSuffix(filepath.Base(p), ".ko"))] = p
		}
		return err
	})
	if err == nil && len(m.files) == 0 {
		err = fmt.Errorf("no kernel modules below %s", root)
	}
	return m, err
}

func moduleName(s string) string { return strings.ReplaceAll(s, "-", "_") }

// add puts a module in the load order, after those that it needs. A module with
// no file is taken to be built into the kernel.
func (m *moduleTree) add(name string) error {
	name = moduleName(name)
	file, ok := m.files[name]
	if !ok || m.seen[name] {
		return nil
	}
	m.seen[name] = true
	deps, err := moduleDepends(file)
	if err != nil {
		return err
	}
	for _, d := range deps {
		if err := m.add(d); err != nil {
			return err
		}
	}
	m.order = append(m.order, file)
	return nil
}

// moduleDepends reads what modinfo -F depends prints.
func moduleDepends(file string) ([]string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	e, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	s := e.Section(".modinfo")
	if s == nil {
		return nil, fmt.Errorf("%s: no .modinfo section", file)
	}
	info, err := s.Data()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for kv := range strings.SplitSeq(string(info), "\x00") {
		if v, ok := strings.CutPrefix(kv, "depends="); ok && v != "" {
			return strings.Split(v, ","), nil
		}
	}
	return nil, nil
}
