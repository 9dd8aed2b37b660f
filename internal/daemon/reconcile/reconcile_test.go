package reconcile_test

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/internal/daemon/desired"
	"github.com/gvswitch/gvswitch/internal/daemon/reconcile"
	"github.com/gvswitch/gvswitch/internal/daemon/rowtest"
	"github.com/gvswitch/gvswitch/netdev"
)

// bench is a datapath with fake devices and a clock that stands still.
type bench struct {
	t     *testing.T
	world *world
	dp    *datapath.Datapath
	rec   *reconcile.Reconciler
	now   time.Time
	ports map[ovsdb.UUID]int // as the database would remember them
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, world: newWorld(), now: time.Unix(1000, 0), ports: map[ovsdb.UUID]int{}}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	b.dp = datapath.New(datapath.Config{Log: quiet})
	b.start(quiet)
	return b
}

func (b *bench) start(log *slog.Logger) {
	b.rec = reconcile.New(reconcile.Config{
		Datapath: b.dp, Providers: b.world.providers(), Checks: b.world.checks(), RunDir: "/run/gv", Log: log, Now: func() time.Time { return b.now },
	})
}

// Each file of testdata is one life of a switch. "apply" takes rows and shows what was done to devices and what became of each interface.
// "missing NAME REASON" and "there NAME" make a device unavailable and available, "advance DURATION" moves the clock, "restart" begins with
// a new reconciler that has only the rows' port numbers, "info NAME link=down fault=TEXT" is a device's word, "directory" shows what runs.
func TestReconcile(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		b := newBench(t)
		defer b.dp.Close()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			b.t = t
			return b.run(d)
		})
		b.rec.Close()
		if n := len(b.world.open); n != 0 {
			t.Errorf("%d devices left open", n)
		}
		if n := len(b.dp.Bridges()); n != 0 {
			t.Errorf("%d bridges left", n)
		}
	})
}

func (b *bench) run(d *datadriven.TestData) string {
	arg := func(i int) string { return d.CmdArgs[i].String() }
	switch d.Cmd {
	case "apply":
		rows, err := rowtest.Parse(d.Input)
		if err != nil {
			b.t.Fatalf("%s: %v", d.Pos, err)
		}
		state := desired.Read(rows, desired.Env{RunDir: "/run/gv", CPUs: []int{0, 1}})
		b.remember(state)
		b.rec.Apply(state)
	case "missing":
		b.world.missing[arg(0)] = strings.ReplaceAll(arg(1), "_", " ")
		return ""
	case "there":
		delete(b.world.missing, arg(0))
		return ""
	case "info":
		b.world.info[arg(0)] = netdev.Info{Link: d.HasArg("up"), Fault: strings.TrimSpace(d.Input)}
	case "advance":
		by, err := time.ParseDuration(arg(0))
		if err != nil {
			b.t.Fatalf("%s: %v", d.Pos, err)
		}
		b.now = b.now.Add(by)
		if at := b.rec.NextRetry(); !at.IsZero() && !b.now.Before(at) {
			b.rec.Retry()
		}
	case "restart":
		b.rec.Close()
		b.start(slog.New(slog.NewTextHandler(io.Discard, nil)))
		b.world.log = nil
		return ""
	case "directory":
		return b.directory()
	default:
		b.t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	}
	return b.results()
}

// remember does what Interface.ofport does.
func (b *bench) remember(s *desired.State) {
	for _, br := range s.Bridges {
		for _, p := range br.Ports {
			if p.Iface != nil && b.ports[p.Iface.UUID] > 0 && b.ports[p.Iface.UUID] < 0xff00 {
				p.Iface.OFPortBefore = b.ports[p.Iface.UUID]
			}
		}
	}
}

func (b *bench) results() string {
	var out strings.Builder
	for _, line := range b.world.log {
		out.WriteString(line + "\n")
	}
	b.world.log = nil
	res := b.rec.Results()
	clear(b.ports)
	for _, e := range res.Report.Errors {
		fmt.Fprintf(&out, "switch error: %s\n", e)
	}
	for _, br := range res.Bridges {
		for _, e := range br.Report.Errors {
			fmt.Fprintf(&out, "bridge error: %s\n", e)
		}
	}
	slices.SortFunc(res.Interfaces, func(x, y reconcile.InterfaceResult) int { return strings.Compare(x.Name, y.Name) })
	for _, i := range res.Interfaces {
		b.ports[i.UUID] = i.OFPort
		fmt.Fprintf(&out, "%s: ofport=%d", i.Name, i.OFPort)
		if i.Running {
			fmt.Fprintf(&out, " %s link=%v", i.Kind, i.Info.Link)
		}
		if i.Resets > 0 {
			fmt.Fprintf(&out, " resets=%d", i.Resets)
		}
		if i.Error != "" {
			fmt.Fprintf(&out, " error=%q", i.Error)
		}
		out.WriteString("\n")
	}
	return out.String()
}

func (b *bench) directory() string {
	var out strings.Builder
	for _, br := range b.rec.Directory().Bridges {
		fmt.Fprintf(&out, "%s:", br.Name)
		for _, p := range br.Ports {
			fmt.Fprintf(&out, " %s=%d", p.Name, p.OFPort)
		}
		out.WriteString("\n")
	}
	return out.String()
}

// A device that the datapath does not take is an error until it does, whether its port
// is new or was there.
func TestRetryOfAttach(t *testing.T) {
	b := newBench(t)
	defer b.dp.Close()
	var taken *fakeDevice // given out again, though a port has it
	providers := b.world.providers()
	ordinary := providers[desired.Dummy]
	providers[desired.Dummy] = func(name string, o netdev.Options, h netdev.Host) (netdev.Device, error) {
		if taken != nil && name == "b" {
			return lent{taken}, nil
		}
		return ordinary(name, o, h)
	}
	b.rec = reconcile.New(reconcile.Config{
		Datapath: b.dp, Providers: providers, RunDir: "/run/gv", Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return b.now },
	})
	defer b.rec.Close()
	lender, err := ordinary("other", netdev.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	apply := func(text string) string {
		t.Helper()
		rows, err := rowtest.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		b.rec.Apply(desired.Read(rows, desired.Env{RunDir: "/run/gv"}))
		for _, i := range b.rec.Results().Interfaces {
			if i.Name == "b" {
				return i.Error
			}
		}
		t.Fatal("no interface b")
		return ""
	}
	// The lender's device is another port's.
	apply("bridge br0\nport b / type=dummy")
	p, err := b.dp.Bridges()[0].AddPort("holder", datapath.PortConfig{Tag: -1, OFPort: 900})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Attach(lent{lender.(*fakeDevice)}); err != nil {
		t.Fatal(err)
	}
	for _, way := range []struct{ what, before string }{
		{"a new port", "bridge br0"},
		{"a port with another device", "bridge br0\nport b / type=dummy options:size=1"},
	} {
		taken = nil
		if way.before == "bridge br0" {
			rows, _ := rowtest.Parse(way.before)
			b.rec.Apply(desired.Read(rows, desired.Env{RunDir: "/run/gv"}))
		} else if msg := apply(way.before); msg != "" {
			t.Fatal(msg)
		}
		taken = lender.(*fakeDevice)
		for range 3 {
			if msg := apply("bridge br0\nport b / type=dummy"); !strings.Contains(msg, "belongs to port") {
				t.Errorf("%s: error %q", way.what, msg)
			}
			b.now = b.now.Add(time.Minute)
		}
		taken = nil
		if msg := apply("bridge br0\nport b / type=dummy"); msg != "" {
			t.Errorf("%s: error %q when all is well", way.what, msg)
		}
	}
	p.Detach()
	p.Remove()
	_ = lender.Close()
}

// lent is a device that belongs to somebody else.
type lent struct{ *fakeDevice }

func (lent) Close() error { return nil }

// A port that failed and then became part of something that is refused as a whole is not due for ever: that would be a busy loop.
func TestRetryOfRefused(t *testing.T) {
	b := newBench(t)
	defer b.dp.Close()
	defer b.rec.Close()
	b.world.missing["eth0"] = "no such device"
	apply := func(text string) {
		rows, err := rowtest.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		b.rec.Apply(desired.Read(rows, desired.Env{RunDir: "/run/gv"}))
	}
	for _, text := range []string{"bridge br0 datapath_type=fast\nport eth0", "bridge br0\nport eth0\nalso eth1 type=dummy"} {
		apply("bridge br0\nport eth0")
		apply(text)
		b.now = b.now.Add(time.Minute)
		if at := b.rec.NextRetry(); at.IsZero() || at.After(b.now) {
			t.Fatalf("%q: next retry at %v, now is %v", text, at, b.now)
		}
		b.rec.Retry()
		if at := b.rec.NextRetry(); !at.After(b.now) {
			t.Errorf("%q: next retry at %v after one at %v", text, at, b.now)
		}
	}
}
