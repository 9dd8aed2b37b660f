// Package logging is where the daemon's log goes: text or JSON lines on standard error or in a file that can be reopened, with a level for
// everything and one for each module, changeable while the switch runs.
//
// A module is a logger with a name (Module). The package knows no module's purpose. Levels are spoken of in Open vSwitch's words (off, emer,
// err, warn, info, dbg), since vlog/set is typed by hand.
//
// Concurrency: everything may be called from any goroutine. Asking for a level is an atomic load.
package logging

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
)

// Log is the daemon's log.
type Log struct {
	out     *output
	handler slog.Handler
	levels  levels
}

// Config says what kind of log to make.
type Config struct {
	Level  string // a word that ParseLevel knows
	Format string // "text" or "json"
	File   string // "" for standard error
}

// New opens the log.
func New(c Config) (*Log, error) {
	level, err := ParseLevel(c.Level)
	if err != nil {
		return nil, err
	}
	out := &output{path: c.File, w: os.Stderr}
	if err := out.reopen(); err != nil {
		return nil, err
	}
	l := &Log{out: out}
	l.levels.setAll(level)
	options := &slog.HandlerOptions{Level: slog.Level(-100), ReplaceAttr: rename} // levels decide
	switch c.Format {
	case "text", "":
		l.handler = slog.NewTextHandler(out, options)
	case "json":
		l.handler = slog.NewJSONHandler(out, options)
	default:
		return nil, fmt.Errorf("log format %q is neither text nor json", c.Format)
	}
	return l, nil
}

// rename prints levels as they are set.
func rename(groups []string, a slog.Attr) slog.Attr {
	if level, ok := a.Value.Any().(slog.Level); ok && a.Key == slog.LevelKey && len(groups) == 0 {
		a.Value = slog.StringValue(LevelName(level))
	}
	return a
}

// Module returns the logger of a module; the same one may be asked for twice.
func (l *Log) Module(name string) *slog.Logger {
	return slog.New(&handler{Handler: l.handler.WithAttrs([]slog.Attr{slog.String("module", name)}), level: l.levels.module(name)})
}

// Default returns a logger for slog.SetDefault: what comes from a logger of it with an attribute "module" belongs to that module.
func (l *Log) Default() *slog.Logger {
	return slog.New(&moduleHandler{Handler: l.Module("main").Handler(), log: l})
}

// moduleHandler changes to a module's own handler as soon as it learns which module it is for.
type moduleHandler struct {
	slog.Handler
	log *Log
}

func (h *moduleHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	for i, a := range attrs {
		if a.Key == "module" {
			others := append(attrs[:i:i], attrs[i+1:]...)
			return h.log.Module(a.Value.String()).Handler().WithAttrs(others)
		}
	}
	return &moduleHandler{Handler: h.Handler.WithAttrs(attrs), log: h.log}
}

// Reopen opens the log file anew, after it was moved away.
func (l *Log) Reopen() error { return l.out.reopen() }

// Close closes the log file.
func (l *Log) Close() error { return l.out.close() }

// handler asks its module's level first.
type handler struct {
	slog.Handler
	level *slog.LevelVar
}

func (h *handler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level.Level() }

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{Handler: h.Handler.WithAttrs(attrs), level: h.level}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{Handler: h.Handler.WithGroup(name), level: h.level}
}

// output is standard error or a file, and can change under the handlers that write to it.
type output struct {
	path string

	mu   sync.Mutex
	w    io.Writer
	file *os.File
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}

// reopen leaves the old file in use when the new one cannot be had.
func (o *output) reopen() error {
	if o.path == "" {
		return nil
	}
	f, err := os.OpenFile(o.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return fmt.Errorf("log file: %w", err)
	}
	o.mu.Lock()
	old := o.file
	o.w, o.file = f, f
	o.mu.Unlock()
	if old != nil {
		return old.Close()
	}
	return nil
}

func (o *output) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file == nil {
		return nil
	}
	f := o.file
	o.w, o.file = io.Discard, nil
	return f.Close()
}
