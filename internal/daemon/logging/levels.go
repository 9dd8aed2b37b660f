package logging

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Levels beyond slog's. Nothing is logged at LevelOff.
const (
	LevelEmer = slog.LevelError + 4
	LevelOff  = slog.LevelError + 100
)

// ParseLevel reads a level in Open vSwitch's words or slog's.
func ParseLevel(s string) (slog.Level, error) {
	switch strings.ToLower(s) {
	case "off":
		return LevelOff, nil
	case "emer":
		return LevelEmer, nil
	case "err", "error":
		return slog.LevelError, nil
	case "warn", "warning":
		return slog.LevelWarn, nil
	case "info", "":
		return slog.LevelInfo, nil
	case "dbg", "debug":
		return slog.LevelDebug, nil
	}
	return 0, fmt.Errorf("log level %q is not one of off, emer, err, warn, info, dbg", s)
}

// LevelName is the word for a level.
func LevelName(l slog.Level) string {
	switch {
	case l >= LevelOff:
		return "OFF"
	case l >= LevelEmer:
		return "EMER"
	case l >= slog.LevelError:
		return "ERR"
	case l >= slog.LevelWarn:
		return "WARN"
	case l >= slog.LevelInfo:
		return "INFO"
	default:
		return "DBG"
	}
}

// levels are the levels of all modules. A module that comes later has the level of all.
type levels struct {
	mu      sync.Mutex
	all     slog.Level
	modules map[string]*slog.LevelVar
}

func (l *levels) module(name string) *slog.LevelVar {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.modules[name]
	if v == nil {
		v = &slog.LevelVar{}
		v.Set(l.all)
		if l.modules == nil {
			l.modules = map[string]*slog.LevelVar{}
		}
		l.modules[name] = v
	}
	return v
}

func (l *levels) setAll(level slog.Level) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = level
	for _, v := range l.modules {
		v.Set(level)
	}
}

// Set changes levels as vlog/set is told to: "LEVEL", "MODULE:LEVEL" or "MODULE[:DESTINATION[:LEVEL]]", where ANY is every module. As in
// Open vSwitch the parts may come in any order and separated by blanks or colons, and no level means dbg. The log has one destination, so
// which one is named makes no difference.
func (l *Log) Set(spec string) error {
	module, level := "", slog.LevelDebug
	for _, word := range strings.FieldsFunc(spec, func(c rune) bool { return c == ':' || c == ' ' || c == ',' }) {
		lower := strings.ToLower(word)
		parsed, err := ParseLevel(word)
		switch {
		case err == nil:
			level = parsed
		case lower == "any", lower == "console", lower == "file", lower == "syslog":
		case module != "":
			return fmt.Errorf("vlog/set %q: %q is neither a level nor a destination", spec, word)
		default:
			module = lower
		}
	}
	if module == "" {
		l.levels.setAll(level)
		return nil
	}
	l.levels.mu.Lock()
	v := l.levels.modules[module]
	l.levels.mu.Unlock()
	if v == nil {
		return fmt.Errorf("vlog/set %q: no module or level %q; modules are %s", spec, module, strings.Join(l.modules(), ", "))
	}
	v.Set(level)
	return nil
}

func (l *Log) modules() []string {
	l.levels.mu.Lock()
	defer l.levels.mu.Unlock()
	return slices.Sorted(maps.Keys(l.levels.modules))
}

// Levels returns every module's level by its word.
func (l *Log) Levels() map[string]string {
	l.levels.mu.Lock()
	defer l.levels.mu.Unlock()
	m := make(map[string]string, len(l.levels.modules))
	for name, v := range l.levels.modules {
		m[name] = LevelName(v.Level())
	}
	return m
}
