package guest

import (
	"fmt"
	"path/filepath"
)

// umlModules is where Debian's user-mode-linux has its modules.
const umlModules = "/usr/lib/uml/modules"

// moduleRoot is the lib/modules/VERSION of a kind's kernel.
func moduleRoot(kind Kind) (string, error) {
	if kind == UML {
		return newest(umlModules+"/*", "user-mode-linux")
	}
	return newest(CacheDir()+"/kernel/lib/modules/*", "linux-image-cloud-amd64, unpacked")
}

// qemuKernel is the kernel of the QEMU guests: Debian's cloud kernel, unpacked
// into the cache by test/deps.sh and not installed.
func qemuKernel() (string, error) {
	return newest(CacheDir()+"/kernel/boot/vmlinuz-*", "linux-image-cloud-amd64, unpacked")
}

// newest is the last of the files that match; deps.sh leaves one.
func newest(pattern, pkg string) (string, error) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	if len(files) == 0 {
		return "", fmt.Errorf("no %s: needs Debian's %s (test/deps.sh gets it)", pattern, pkg)
	}
	return files[len(files)-1], nil
}
