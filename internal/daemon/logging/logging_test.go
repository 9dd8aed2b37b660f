package logging

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSetLevel(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	l, err := New(Config{Level: "warn", Format: "text", File: file})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, b := l.Module("bridge"), l.Module("datapath")
	for _, c := range []struct {
		spec, err string
		a, b      string
	}{
		{spec: "info", a: "INFO", b: "INFO"},
		{spec: "bridge:file:dbg", a: "DBG", b: "INFO"},
		{spec: "ANY:console:err", a: "ERR", b: "ERR"},
		{spec: "datapath", a: "ERR", b: "DBG"},
		{spec: "off datapath", a: "ERR", b: "OFF"},
		{spec: "nosuch:dbg", err: `no module or level "nosuch"; modules are bridge, datapath`, a: "ERR", b: "OFF"},
		{spec: "bridge:loud", err: `"loud" is neither a level nor a destination`, a: "ERR", b: "OFF"},
		{spec: "any:emer", a: "EMER", b: "EMER"},
	} {
		err := l.Set(c.spec)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %v", c.spec, err)
		}
		if m := l.Levels(); m["bridge"] != c.a || m["datapath"] != c.b {
			t.Errorf("%q: %v", c.spec, m)
		}
	}
	if err := l.Set("bridge:warn"); err != nil {
		t.Fatal(err)
	}
	a.With("port", "p0").Info("quiet")
	a.With("port", "p0").Warn("loud")
	b.Error("quiet")
	if got := read(t, file); strings.Contains(got, "quiet") || !strings.Contains(got, "level=WARN msg=loud module=bridge port=p0") {
		t.Errorf("log is %q", got)
	}
}

func TestReopen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	l, err := New(Config{Format: "json", File: file})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	log := l.Module("m")
	log.Info("one")
	if err := os.Rename(file, file+".1"); err != nil {
		t.Fatal(err)
	}
	log.Info("two")
	if err := l.Reopen(); err != nil {
		t.Fatal(err)
	}
	log.Info("three")
	old, now := read(t, file+".1"), read(t, file)
	if strings.Count(old, "\n") != 2 || strings.Count(now, "\n") != 1 || !strings.Contains(now, `"msg":"three"`) {
		t.Errorf("old %q, new %q", old, now)
	}
}

func TestDefault(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	l, err := New(Config{Level: "warn", File: file})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	log := l.Default().With("module", "vhost-user", "port", "p0")
	if err := l.Set("vhost-user:info"); err != nil {
		t.Fatal(err)
	}
	log.Info("heard")
	l.Default().Info("not heard")
	l.Default().Warn("heard too")
	got := read(t, file)
	if strings.Count(got, "\n") != 2 || !strings.Contains(got, "msg=heard module=vhost-user port=p0") || !strings.Contains(got, `msg="heard too" module=main`) {
		t.Errorf("log is %q", got)
	}
}

func TestBadConfig(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{Level: "loud"}, `log level "loud"`},
		{Config{Format: "xml"}, `log format "xml"`},
		{Config{File: "/nonexistent/log"}, "log file"},
	} {
		if _, err := New(c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.config, err)
		}
	}
}
