package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// pidFile is the pid file that --pidfile=FILE asks for, beside those in the run directory.
type pidFile struct{ path string }

// writePIDFile writes the file, or returns nil if there is nothing to write. own is the run directory's, which must not be opened again, see
// control.RunDir.
func writePIDFile(path, own string) (*pidFile, error) {
	if path == "" {
		return nil, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("pid file %s: %w", path, err)
	}
	if path == own {
		return nil, nil
	}
	// A new file, not new content: the name may be a link to another process's locked pid file.
	tmp := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(tmp, fmt.Appendf(nil, "%d\n", os.Getpid()), 0o644); err != nil {
		return nil, fmt.Errorf("pid file: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return nil, errors.Join(fmt.Errorf("pid file: %w", err), os.Remove(tmp))
	}
	return &pidFile{path}, nil
}

func (p *pidFile) remove() error {
	if err := os.Remove(p.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("pid file: %w", err)
	}
	return nil
}
