package daemon

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gvswitch/gvswitch/internal/unixsock"
)

// linkDatabase makes db.sock in the run directory lead to an external database's socket, so that whoever knows the run directory finds the
// configuration. It returns the link, "" if there is nothing to link: the database is not on a unix socket, or its socket is there already.
func linkDatabase(address, runDir string) (string, error) {
	target, ok := strings.CutPrefix(address, "unix:")
	if !ok && !strings.HasPrefix(address, "/") {
		return "", nil
	}
	if !ok {
		target = address
	}
	target, err := filepath.Abs(target)
	if err != nil {
		return "", fmt.Errorf("database address %s: %w", address, err)
	}
	link := filepath.Join(runDir, databaseSocket)
	if target == link {
		return "", nil
	}
	if err := removeOldSocket(link); err != nil {
		return "", err
	}
	if err := os.Symlink(target, link); err != nil {
		return "", fmt.Errorf("database socket: %w", err)
	}
	return link, nil
}

// removeOldSocket takes away a link, or a socket of a daemon that was killed. Another file, or a socket that answers, is an error.
func removeOldSocket(path string) error {
	info, err := os.Lstat(path)
	if err == nil && info.Mode().Type() == fs.ModeSymlink {
		err = os.Remove(path)
	} else {
		err = unixsock.RemoveStale(path)
	}
	if err != nil {
		return fmt.Errorf("database socket: %w", err)
	}
	return nil
}
