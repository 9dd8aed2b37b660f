package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/internal/daemon/reconcile"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

const (
	// saveDelay is how long after the first of some changes a flow file is written.
	saveDelay = 200 * time.Millisecond
	// saveAgain is how long after a failure it is tried again.
	saveAgain = 10 * time.Second
)

// flowFiles keeps the flows of bridges in files, Bridge.other_config:flow-file: they are loaded when the bridge is made, and written after changes by
// commands, whole and under another name first, so that a file is always either the old or the new one.
//
// A file has lines as add-flows takes them. Lines that begin with "group" or "meter" are groups and meters as add-group and add-meter take them.
type flowFiles struct {
	now     func() int64                       // the datapath's time
	reserve func(bytes int64) (release func()) // the datapath's
	log     *slog.Logger

	mu      sync.Mutex
	files   map[*datapath.Bridge]*flowFile
	loading map[*datapath.Bridge]chan struct{} // closed when it is over
}

// flowFile is one of them.
type flowFile struct {
	bridge *datapath.Bridge
	name   string // of the bridge
	path   string
	dirty  bool // it is to be written, and will be; flowFiles.mu is held

	writing sync.Mutex // held while it is written
	failed  bool       // last time; writing is held
}

// Attach implements reconcile.FlowFiles.
func (f *flowFiles) Attach(b *reconcile.BridgeEntry, path string) (loaded bool, err error) {
	f.Detach(b.DP)
	if path == "" {
		return false, nil
	}
	defer f.begin(b.DP)()
	if other := f.holder(path); other != "" {
		return false, fmt.Errorf("other_config:flow-file: %s: it is the file of bridge %s", path, other)
	}
	text, err := os.ReadFile(path)
	absent := errors.Is(err, fs.ErrNotExist)
	switch {
	case absent:
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return false, fmt.Errorf("other_config:flow-file: %w", err)
		}
	case err == nil:
		release := f.reserve(flowMemory(string(text)))
		err = f.load(b, path, string(text))
		release()
	}
	if err != nil && !absent {
		return false, fmt.Errorf("other_config:flow-file: %w", err)
	}
	f.mu.Lock()
	if f.files == nil {
		f.files = map[*datapath.Bridge]*flowFile{}
	}
	if whole, err := filepath.EvalSymlinks(path); err == nil {
		path = whole // or the link would be replaced, not the file
	}
	f.files[b.DP] = &flowFile{bridge: b.DP, name: b.Name, path: path}
	f.mu.Unlock()
	if absent && len(b.DP.Tables().Flows(nil)) > 0 {
		f.Changed(b.DP)
	}
	return !absent, nil
}

// begin has those who wait for a bridge wait until end is called.
func (f *flowFiles) begin(b *datapath.Bridge) (end func()) {
	done := make(chan struct{})
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.loading == nil {
		f.loading = map[*datapath.Bridge]chan struct{}{}
	}
	f.loading[b] = done
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.loading, b)
		close(done)
	}
}

// wait returns when no file is being loaded into a bridge: what a command did meanwhile would be lost
// when the file's flows take the place of all that are there.
func (f *flowFiles) wait(b *datapath.Bridge) {
	f.mu.Lock()
	done := f.loading[b]
	f.mu.Unlock()
	if done != nil {
		<-done
	}
}

// holder is the bridge whose file it is, "" if it is none's.
func (f *flowFiles) holder(path string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, file := range f.files {
		if sameFile(file.path, path) {
			return file.name
		}
	}
	return ""
}

// sameFile tells whether two names mean one file, by whatever links, be it there or not.
func sameFile(a, b string) bool {
	if same(a, b) {
		return true
	}
	return filepath.Base(a) == filepath.Base(b) && same(filepath.Dir(a), filepath.Dir(b))
}

func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// load makes a bridge's flows those of a file's text, in one step, after the groups and meters that they need are there, and before those go
// that the file does not have. Names are understood.
func (f *flowFiles) load(b *reconcile.BridgeEntry, path, text string) error {
	t, names, now := b.DP.Tables(), namesOf(b, true), f.now()
	var prepare []func() error
	var rest strings.Builder                               // the flows, with empty lines for the others, so that errors have the right numbers
	groups, meters := map[uint32]bool{}, map[uint32]bool{} // that the file has
	number := 0
	for line := range strings.Lines(text) {
		number++
		place := fmt.Sprintf("%s:%d: ", path, number)
		line, comment, _ := strings.Cut(line, "#")
		word, value, _ := strings.Cut(strings.ReplaceAll(strings.TrimSpace(line), "\t", " "), " ")
		switch word {
		case "group":
			mods, err := readGroups(value, "", ofp.GroupAdd, names)
			if err != nil {
				return fmt.Errorf("%s%w", place, err)
			}
			groups[mods[0].Def.ID] = true
			prepare = append(prepare, func() error {
				_, err := t.ApplyGroup(rules.GroupAddOrModify, &mods[0].Def, 0, now)
				return withPlace(place, err)
			})
			rest.WriteByte('\n')
		case "meter":
			def, err := ofp.ParseMeter(value)
			if err != nil {
				return fmt.Errorf("%s%w", place, err)
			}
			meters[def.ID] = true
			prepare = append(prepare, func() error {
				command := rules.MeterAdd
				if t.Meter(def.ID) != nil {
					command = rules.MeterModify
				}
				_, err := t.ApplyMeter(command, &def, now)
				return withPlace(place, err)
			})
			rest.WriteByte('\n')
		default:
			rest.WriteString(line)
			if comment != "" {
				rest.WriteByte('\n')
			}
		}
	}
	flows, err := readFlowsToAdd(rest.String(), path, names)
	if err != nil {
		return err
	}
	for _, step := range prepare {
		if err := step(); err != nil {
			return err
		}
	}
	if _, err = t.Replace(flows, rules.Options{Now: now}); err != nil {
		return refusedAt(rest.String(), path, err)
	}
	for _, g := range t.Groups() {
		if !groups[g.Def.ID] {
			_, e := t.ApplyGroup(rules.GroupDelete, &ofp.GroupDef{ID: g.Def.ID}, 0, now)
			err = errors.Join(err, e)
		}
	}
	for _, m := range t.Meters() {
		if !meters[m.Def.ID] {
			_, e := t.ApplyMeter(rules.MeterDelete, &ofp.MeterDef{ID: m.Def.ID}, now)
			err = errors.Join(err, e)
		}
	}
	return err
}

func withPlace(place string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s%w", place, plain(err))
}

// Detach implements reconcile.FlowFiles: what is not written yet is, before it returns.
func (f *flowFiles) Detach(b *datapath.Bridge) {
	f.mu.Lock()
	file := f.files[b]
	delete(f.files, b)
	f.mu.Unlock()
	if file != nil {
		f.flush(file)
	}
}

// Changed has a bridge's file written soon.
func (f *flowFiles) Changed(b *datapath.Bridge) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if file := f.files[b]; file != nil {
		f.schedule(file, saveDelay)
	}
}

// schedule has a file written after some time, if that is not on its way already. f.mu is held.
func (f *flowFiles) schedule(file *flowFile, after time.Duration) {
	if !file.dirty {
		file.dirty = true
		time.AfterFunc(after, func() { f.flush(file) })
	}
}

// flush writes a file if it is not as the flows are, and returns when it is written, by whomever. What fails is logged, and tried again later.
func (f *flowFiles) flush(file *flowFile) {
	file.writing.Lock()
	defer file.writing.Unlock()
	f.mu.Lock()
	dirty := file.dirty
	file.dirty = false
	f.mu.Unlock()
	if !dirty {
		return
	}
	err := replaceFile(file.path, flowFileText(file.bridge.Tables()))
	switch {
	case err != nil && !file.failed:
		f.log.Error("flows not saved", "bridge", file.name, "file", file.path, "error", err)
	case err == nil && file.failed:
		f.log.Info("flows saved again", "bridge", file.name, "file", file.path)
	}
	file.failed = err != nil
	if err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.files[file.bridge] == file {
			f.schedule(file, saveAgain)
		}
	}
}

// flowsOf are a bridge's flows, and the groups and meters that there were for all of them: while others change those, it looks again.
func flowsOf(t *rules.Tables) (meters []*rules.Meter, groups []*rules.Group, flows []*rules.Rule) {
	meters, groups = t.Meters(), t.Groups()
	for range 100 {
		flows = t.Flows(nil)
		m, g := t.Meters(), t.Groups()
		if slices.Equal(m, meters) && slices.Equal(g, groups) {
			break
		}
		meters, groups = m, g
	}
	return meters, groups, flows
}

// flowFileText is the content of a file: numbers for ports, since they stay when a port's name does not.
func flowFileText(t *rules.Tables) []byte {
	meters, groups, flows := flowsOf(t)
	out := []byte("# Flows of gvswitch. Written after each change; to change them by hand, end gvswitchd first.\n")
	for _, m := range meters {
		// The text has each band on a line of its own.
		out = append(append(out, "meter "...), bytes.ReplaceAll(m.Def.Append(nil), []byte("\n"), []byte(" "))...)
		out = append(out, '\n')
	}
	for _, g := range groups {
		out = append(append(out, "group "...), bytes.TrimSpace(g.Def.Append(nil, nil))...)
		out = append(out, '\n')
	}
	for _, r := range flows {
		if r.Idle != 0 || r.Hard != 0 {
			continue // it would live again from the beginning
		}
		f := r.Flow()
		out = append(append(out, bytes.TrimSpace(f.Append(nil, nil))...), '\n')
	}
	return out
}

// replaceFile gives a file a new content, so that after a crash it has the old or the new one.
func replaceFile(path string, content []byte) (err error) {
	tmp := path + ".tmp"
	file, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
