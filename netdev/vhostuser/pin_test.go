package vhostuser

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/vhostuser/frontend"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/netdev"
)

// pinLab is a port whose switch can be restarted.
type pinLab struct {
	*testSwitch
	t    *testing.T
	o    netdev.Options
	path string
	port *testPort
}

func newPinLab(t *testing.T, options map[string]string) *pinLab {
	// The switch, which still writes when it ends, is made last and so ends first.
	l := &pinLab{t: t, o: netdev.Options{RunDir: t.TempDir(), StateDir: t.TempDir(), Map: options}}
	l.testSwitch = newSwitch(t)
	l.path = filepath.Join(l.o.RunDir, "p")
	l.port = l.add(t, OpenServer, "p", l.o)
	return l
}

// restart is another life of the switch, with other options.
func (l *pinLab) restart(options map[string]string) {
	l.t.Helper()
	l.remove(l.t, l.port)
	l.o.Map = options
	l.port = l.add(l.t, OpenServer, "p", l.o)
}

// idle waits until the guest has gone and nothing is written any more.
func (l *pinLab) idle() {
	l.t.Helper()
	eventually(l.t, "the guest is gone", func() bool {
		d := l.port.dev.(*Device)
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.peer == nil
	})
}

// other lets the pin be of another process than the test's own.
func (l *pinLab) other() {
	d := l.port.dev.(*Device)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pin.FrontEnd = strings.Replace(d.pin.FrontEnd, "process ", "process 9", 1)
}

func (l *pinLab) status(key string) string { return l.port.dev.Info().Status[key] }

// asQEMU is a front end that insists on what its guest has, as QEMU does: it leaves if that is not offered.
func (l *pinLab) asQEMU(guest uint64) (offered uint64, ok bool) {
	l.t.Helper()
	c, err := frontend.Dial(l.path)
	if err != nil {
		l.t.Fatal(err)
	}
	defer c.Close()
	if offered, err = c.GetU64(vhostuser.GetFeatures); err != nil {
		l.t.Fatal(err)
	}
	if guest&^offered != 0 {
		return offered, false
	}
	if err := c.SetProtocol(vhostuser.ProtoReplyAck); err != nil {
		l.t.Fatal(err)
	}
	if err := c.Set(vhostuser.SetFeatures, vhostuser.AppendU64(nil, guest)); err != nil {
		l.t.Fatal(err)
	}
	return offered, true
}

// B21: each setting that makes an offer smaller is changed while the switch is down. A guest that runs finds
// all that it was offered; after the port was deleted it is gone.
func TestPinOverRestart(t *testing.T) {
	all := map[string]string{"vhost-offload": "true", "n_rxq": "4"}
	for _, less := range []map[string]string{
		{"n_rxq": "4"},
		{"vhost-offload": "true"},
		{"vhost-offload": "true", "n_rxq": "4", "virtio-features": "-MRG_RXBUF,-EVENT_IDX,-CTRL_VQ"},
		{"vhost-offload": "true", "n_rxq": "4", "virtio-features": "-VERSION_1"},
		nil,
	} {
		l := newPinLab(t, all)
		offered, _ := l.asQEMU(virtio.FVersion1)
		want := l.status("features-offered")
		l.restart(less)
		if again, ok := l.asQEMU(offered &^ virtio.VhostFLogAll); !ok || again != offered {
			t.Fatalf("%v: after a restart without %s", less, featureNames(offered&^again))
		}
		set, err := parse("p", true, l.o)
		if err != nil {
			t.Fatal(err)
		}
		gone := featureNames(offered &^ set.wanted())
		if got := l.status("features-pinned"); got != gone || gone == "" {
			t.Errorf("%v: pinned %q, want %q", less, got, gone)
		}
		if got := l.status("features-pinned-because"); !strings.Contains(got, "process") || !strings.Contains(got, "started anew") {
			t.Errorf("pinned because %q", got)
		}
		if got := l.status("features-offered"); got != want {
			t.Errorf("%v: offered %q, want %q", less, got, want)
		}
		l.restart(less) // twice: the pin outlives a life in which it was only kept
		if again, ok := l.asQEMU(offered &^ virtio.VhostFLogAll); !ok || again != offered {
			t.Fatalf("%v: after two restarts without %s", less, featureNames(offered&^again))
		}
		// The port is deleted and added: another guest.
		l.port.dev.(netdev.Forgetter).Forget()
		l.restart(less)
		if now, _ := l.asQEMU(0); now != set.wanted() {
			t.Errorf("%v: a new port offers %s too many", less, featureNames(now&^set.wanted()))
		}
		if l.status("features-pinned") != "" {
			t.Errorf("%v: a new port has pinned %s", less, l.status("features-pinned"))
		}
	}
}

// Another process has no claim to what this one was offered.
func TestPinEndsWithTheProcess(t *testing.T) {
	l := newPinLab(t, map[string]string{"vhost-offload": "true"})
	offered, _ := l.asQEMU(virtio.FVersion1)
	l.restart(nil)
	// In the place of the test's own process, one that has ended.
	d := l.port.dev.(*Device)
	d.mu.Lock()
	d.pin.FrontEnd = strings.Replace(d.pin.FrontEnd, "process ", "process 9", 1)
	d.mu.Unlock()
	now, _ := l.asQEMU(0)
	if now&offloadFeatures != 0 || now != offered&^offloadFeatures {
		t.Errorf("offered %s", featureNames(now))
	}
	if l.status("features-pinned") != "" {
		t.Error("features are pinned for a process that has ended")
	}
	// In doubt the guest may be the same.
	for _, unknown := range []pin{{Offered: offered}, {Offered: offered, FrontEnd: "process 1"}} {
		if id := ""; !unknown.holds(id) {
			t.Errorf("%+v does not hold for an unknown front end", unknown)
		}
	}
	if p := (pin{Offered: offered}); !p.holds("process 1") {
		t.Error("a pin of nobody known does not hold")
	}
}

// Somebody else who only connects, while the guest's side is away, takes nothing from it.
func TestPinOutlivesAProbe(t *testing.T) {
	l := newPinLab(t, map[string]string{"vhost-offload": "true"})
	offered, _ := l.asQEMU(virtio.FVersion1)
	l.idle()
	l.restart(nil)
	d := l.port.dev.(*Device)
	d.mu.Lock()
	mine := d.pin.FrontEnd
	d.pin.FrontEnd = strings.Replace(mine, "process ", "process 9", 1) // in whose place comes this process
	before := d.pin
	d.mu.Unlock()
	c, err := frontend.Dial(l.path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.GetU64(vhostuser.GetProtocolFeatures); err != nil {
		t.Fatal(err)
	}
	c.Close()
	l.idle()
	d.mu.Lock()
	if d.pin != before {
		t.Errorf("pinned %+v, want %+v", d.pin, before)
	}
	d.pin.FrontEnd = mine
	d.mu.Unlock()
	if again, ok := l.asQEMU(offered &^ virtio.VhostFLogAll); !ok || again != offered {
		t.Errorf("without %s", featureNames(offered&^again))
	}
	l.idle()
}

// A guest's own acknowledgement is kept beside the offer, and a damaged file does no harm.
func TestPinFile(t *testing.T) {
	l := newPinLab(t, nil)
	l.asQEMU(virtio.FVersion1 | virtio.NetFMrgRxbuf)
	file := pinFile(l.o.StateDir, l.path)
	if filepath.Ext(file) != ".json" || len(filepath.Base(file)) != 32+len(".json") {
		t.Errorf("the pin is in %s", file)
	}
	l.idle()
	p, err := loadPin(file, l.path)
	if err != nil || p.Acked != virtio.FVersion1|virtio.NetFMrgRxbuf || p.Offered != baseFeatures|ctrlFeatures || p.Socket != l.path {
		t.Errorf("%+v, %v", p, err)
	}
	if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), `"MRG_RXBUF VERSION_1"`) {
		t.Errorf("%s, %v", b, err)
	}
	for _, bad := range []string{"", "{", `{"socket":"/elsewhere"}`, `{"socket":"` + l.path + `","pairs":1000}`, `{"socket":"` + l.path + `","offered":-1}`} {
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if p, err := loadPin(file, l.path); err == nil || p != (pin{}) {
			t.Errorf("%q: %+v, %v", bad, p, err)
		}
		l.restart(nil)
		if now, ok := l.asQEMU(virtio.FVersion1); !ok || now != baseFeatures|ctrlFeatures {
			t.Errorf("%q: offered %#x", bad, now)
		}
		l.idle()
	}
	// What only a newer version can serve is not offered by this one.
	if err := os.WriteFile(file, []byte(`{"socket":"`+l.path+`","offered":18446744073709551615,"pairs":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	l.restart(nil)
	if now, _ := l.asQEMU(virtio.FVersion1); now != possibleFeatures {
		t.Errorf("offered %#x", now)
	}
	// Nothing to write to: the port works all the same.
	l.o.StateDir = "/proc"
	l.restart(nil)
	if _, ok := l.asQEMU(virtio.FVersion1); !ok {
		t.Error("no offer")
	}
}

// The last resort: a front end that insists on what the one before was offered, and so may be that one, refuses
// three times and then gets it.
func TestStubbornFrontEnd(t *testing.T) {
	const guest = virtio.FVersion1 | virtio.NetFCsum | virtio.NetFHostTSO4
	l := newPinLab(t, map[string]string{"vhost-offload": "true", "n_rxq": "4"})
	if _, ok := l.asQEMU(guest); !ok {
		t.Fatal("not offered")
	}
	l.idle()
	l.restart(map[string]string{"virtio-features": "-EVENT_IDX"})
	l.other()
	if offered, ok := l.asQEMU(guest); ok {
		t.Fatalf("offered %#x", offered)
	}
	l.idle()
	l.restart(l.o.Map) // what was before is kept
	for range refusals {
		if offered, ok := l.asQEMU(guest); ok {
			t.Fatalf("offered %#x", offered)
		}
		l.idle()
	}
	if _, ok := l.asQEMU(guest); !ok {
		t.Fatal("still not offered")
	}
	l.idle()
	if got := l.status("features-pinned"); !strings.Contains(got, "HOST_TSO4") || !strings.Contains(got, "EVENT_IDX") || strings.Contains(got, "USO") {
		t.Errorf("pinned %q", got)
	}
	if p, err := loadPin(pinFile(l.o.StateDir, l.path), l.path); err != nil || p.Pairs != 4 {
		t.Errorf("%+v, %v", p, err)
	}
	l.restart(l.o.Map)
	if _, ok := l.asQEMU(guest); !ok {
		t.Error("not offered after a restart")
	}
}

// What no front end was offered, and what the operator has taken away, nobody gets by refusing.
func TestStubbornFrontEndGetsNothingNew(t *testing.T) {
	for _, options := range []map[string]string{nil, {"vhost-offload": "true", "virtio-features": "-MRG_RXBUF,-HOST_TSO4"}} {
		l := newPinLab(t, options)
		want, _ := l.asQEMU(virtio.FVersion1)
		l.idle()
		l.other()
		for range refusals + 2 {
			if offered, ok := l.asQEMU(possibleFeatures); ok || offered != want {
				t.Fatalf("%v: offered %s more", options, featureNames(offered&^want))
			}
			l.idle()
		}
		if got := l.status("features-pinned"); got != "" {
			t.Errorf("%v: pinned %q", options, got)
		}
		// Nor does one that has agreed since leave anything of those before it.
		if _, ok := l.asQEMU(virtio.FVersion1); !ok {
			t.Fatal("no offer")
		}
		l.idle()
		if p, err := loadPin(pinFile(l.o.StateDir, l.path), l.path); err != nil || p.Before != 0 {
			t.Errorf("%+v, %v", p, err)
		}
	}
}

// A file that says what is so is left alone, and a front end that changes its mind all the time does not make
// the switch write as often. What came last is in the file at the end.
func TestPinIsWrittenSparingly(t *testing.T) {
	l := newPinLab(t, nil)
	file := pinFile(l.o.StateDir, l.path)
	l.asQEMU(virtio.FVersion1)
	l.idle()
	before := fileOf(file)
	l.restart(nil)
	l.asQEMU(virtio.FVersion1)
	l.idle()
	if now := fileOf(file); now != before || now == "" {
		t.Errorf("%s became %s", before, now)
	}
	c, err := frontend.Dial(l.path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetProtocol(vhostuser.ProtoReplyAck); err != nil {
		t.Fatal(err)
	}
	writes, start := 0, time.Now()
	for i := range 300 {
		last := fileOf(file)
		if err := c.Set(vhostuser.SetFeatures, vhostuser.AppendU64(nil, virtio.FVersion1|virtio.NetFMrgRxbuf*uint64(1-i%2))); err != nil {
			t.Fatal(err)
		}
		if fileOf(file) != last {
			writes++
		}
	}
	if most := 1 + int(time.Since(start)/ackedEvery) + 1; writes > most {
		t.Errorf("written %d times, want %d at most", writes, most)
	}
	if err := c.Set(vhostuser.SetFeatures, vhostuser.AppendU64(nil, virtio.FVersion1|virtio.FEventIdx)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	l.idle()
	l.restart(nil)
	if p, err := loadPin(file, l.path); err != nil || p.Acked != virtio.FVersion1|virtio.FEventIdx {
		t.Errorf("%+v, %v", p, err)
	}
}

// Who is behind a socket.
func TestIdentity(t *testing.T) {
	l := newPinLab(t, nil)
	c, err := frontend.Dial(l.path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	a, b := processOf(c.Unix()), processOf(c.Unix())
	if a == "" || a != b || !strings.HasPrefix(a, "process ") {
		t.Errorf("%q, %q", a, b)
	}
	path := filepath.Join(l.o.RunDir, "guest")
	first := listenUnix(t, path)
	one := fileOf(path)
	first.Close()
	if err := exec.Command("sleep", "0.01").Run(); err != nil {
		t.Fatal(err)
	}
	listenUnix(t, path)
	if two := fileOf(path); one == "" || two == "" || one == two {
		t.Errorf("two sockets in one place: %q, %q", one, two)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if one, two := fileOf(path), fileOf(path); one != two {
		t.Errorf("%q, %q", one, two)
	}
	if got := fileOf(path + "x"); got != "" {
		t.Errorf("no file: %q", got)
	}
}

// The status says what is pinned as soon as the option changes, while the guest runs.
func TestPinnedAtOnce(t *testing.T) {
	l := newPinLab(t, nil)
	attach(t, l.path, frontend.Config{})
	if got := l.status("features-pinned"); got != "" {
		t.Errorf("pinned %q", got)
	}
	if err := l.port.dev.(*Device).Adjust(netdev.Options{RunDir: l.o.RunDir, Map: map[string]string{"virtio-features": "-MRG_RXBUF"}}); err != nil {
		t.Fatal(err)
	}
	if got := l.status("features-pinned"); got != "MRG_RXBUF" {
		t.Errorf("pinned %q", got)
	}
}
