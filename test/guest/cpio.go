package guest

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// archive builds an initramfs in cpio's "newc" form (the kernel's
// Documentation/driver-api/early-userspace/buffer-format.rst): for each file a
// header of hexadecimal fields, its name, its contents, each padded to 4 bytes.
type archive struct {
	buf   bytes.Buffer
	inode int
	dirs  []string // directories written already
}

// Mode bits of a cpio header, as stat(2) has them.
const (
	modeDir     = 0o040000
	modeFile    = 0o100000
	modeSymlink = 0o120000
)

// dir adds a directory and those above it.
func (a *archive) dir(name string) {
	name = strings.Trim(name, "/")
	if name == "" || name == "." || slices.Contains(a.dirs, name) {
		return
	}
	a.dir(path.Dir(name))
	a.dirs = append(a.dirs, name)
	a.entry(name, modeDir|0o755, nil)
}

func (a *archive) file(name string, perm fs.FileMode, data []byte) {
	a.dir(path.Dir(name))
	a.entry(strings.Trim(name, "/"), modeFile|uint32(perm.Perm()), data)
}

func (a *archive) symlink(name, target string) {
	a.dir(path.Dir(name))
	a.entry(strings.Trim(name, "/"), modeSymlink|0o777, []byte(target))
}

// bytes ends the archive and returns it.
func (a *archive) bytes() []byte {
	a.entry("TRAILER!!!", 0, nil)
	return a.buf.Bytes()
}

func (a *archive) entry(name string, mode uint32, data []byte) {
	a.inode++
	fmt.Fprintf(&a.buf, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		a.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0, name)
	a.pad()
	a.buf.Write(data)
	a.pad()
}

func (a *archive) pad() {
	for a.buf.Len()%4 != 0 {
		a.buf.WriteByte(0)
	}
}
