package guest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gvswitch/gvswitch/test/proc"
)

// programs of the host that the guests have, with the shared libraries that
// they need. Everything else in a guest is busybox.
var programs = []string{"dash", "ip", "ethtool", "iperf3", "tcpdump"}

// kernelModules that each kind loads at boot.
var kernelModules = map[Kind][]string{
	UML:  {"virtio_net", "ipv6", "8021q"},
	QEMU: {"virtio_pci", "virtio_net", "ipv6", "8021q"},
}

// A process builds each image once.
var images = map[Kind]func() (string, error){
	UML:  sync.OnceValues(func() (string, error) { return buildImage(UML) }),
	QEMU: sync.OnceValues(func() (string, error) { return buildImage(QEMU) }),
}

// buildImage builds the initramfs of a kind and returns its file. It is named
// after its contents, so that processes at the same time do not disturb each
// other.
func buildImage(kind Kind) (string, error) {
	b, err := imageBytes(kind)
	if err != nil {
		return "", fmt.Errorf("build the %s guests' initramfs: %w", kind, err)
	}
	dir := filepath.Join(CacheDir(), "image")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	file := filepath.Join(dir, fmt.Sprintf("%s-%x.cpio", kind, sha256.Sum256(b)))
	if info, err := os.Stat(file); err == nil && info.Size() == int64(len(b)) {
		return file, nil
	}
	old, _ := filepath.Glob(filepath.Join(dir, string(kind)+"-*.cpio"))
	tmp, err := os.CreateTemp(dir, "new")
	if err != nil {
		return "", err
	}
	defer os.Remove(tmp.Name())
	if _, err := tmp.Write(b); err != nil {
		return "", err
	}
	if err := tmp.Close(); err != nil {
		return "", err
	}
	if err := os.Rename(tmp.Name(), file); err != nil {
		return "", err
	}
	for _, f := range old {
		_ = os.Remove(f)
	}
	return file, nil
}

func imageBytes(kind Kind) ([]byte, error) {
	a := new(archive)
	for _, d := range []string{"dev", "proc", "sys", "tmp", "run", "root", "mod", "etc", "var"} {
		a.dir(d)
	}
	a.symlink("sbin", "bin")
	a.symlink("var/run", "../run")
	a.file("etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/bin/sh\ntcpdump:x:0:0::/root:/bin/sh\n"))
	a.file("etc/group", 0o644, []byte("root:x:0:\n"))
	a.file("etc/hosts", 0o644, []byte("127.0.0.1 localhost\n"))
	if err := addAgent(a); err != nil {
		return nil, err
	}
	if err := addPrograms(a); err != nil {
		return nil, err
	}
	root, err := moduleRoot(kind)
	if err != nil {
		return nil, err
	}
	tree, err := newModuleTree(root)
	if err != nil {
		return nil, err
	}
	for _, m := range kernelModules[kind] {
		if err := tree.add(m); err != nil {
			return nil, err
		}
	}
	for i, f := range tree.order {
		if err := copyFile(a, fmt.Sprintf("mod/%02d-%s", i, filepath.Base(f)), f); err != nil {
			return nil, err
		}
	}
	return a.bytes(), nil
}

func addAgent(a *archive) error {
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", dir+"/init",
		"github.com/gvswitch/gvswitch/test/guest/agent")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build agent: %w: %s", err, out)
	}
	return copyFile(a, "init", dir+"/init")
}

// addPrograms adds busybox with its applets, then the real programs in place of
// the applets of the same name.
func addPrograms(a *archive) error {
	busybox, err := lookup("busybox", "busybox-static")
	if err != nil {
		return err
	}
	if err := copyFile(a, "bin/busybox", busybox); err != nil {
		return err
	}
	list, err := proc.Run(context.Background(), busybox, "--list")
	if err != nil {
		return err
	}
	own := append(slices.Clone(programs), "busybox", "sh")
	for applet := range strings.FieldsSeq(list) {
		if !slices.Contains(own, applet) {
			a.symlink("bin/"+applet, "busybox")
		}
	}
	// Not busybox's shell: it would run its own applets before the programs.
	a.symlink("bin/sh", "dash")
	var libs []string
	for _, p := range programs {
		file, err := lookup(p, p)
		if err != nil {
			return err
		}
		if err := copyFile(a, "bin/"+p, file); err != nil {
			return err
		}
		out, err := proc.Run(context.Background(), "ldd", file)
		if err != nil {
			return err
		}
		for w := range strings.FieldsSeq(out) {
			if strings.HasPrefix(w, "/") && !slices.Contains(libs, w) {
				libs = append(libs, w)
			}
		}
	}
	for _, l := range libs {
		if err := copyFile(a, l, l); err != nil {
			return err
		}
	}
	return nil
}

func lookup(program, pkg string) (string, error) {
	if err := proc.Need(program, pkg); err != nil {
		return "", err
	}
	return exec.LookPath(program)
}

func copyFile(a *archive, name, from string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	a.file(name, 0o755, b)
	return nil
}
