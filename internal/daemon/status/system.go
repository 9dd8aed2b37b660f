package status

import (
	"os"
	"strconv"
	"strings"
)

// systemRelease names the operating system, as os-release(5) has it.
func systemRelease() (name, version string) {
	text, err := os.ReadFile("/etc/os-release")
	if err != nil {
		text, err = os.ReadFile("/usr/lib/os-release")
	}
	if err != nil {
		return "unknown", ""
	}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if plain, err := strconv.Unquote(value); err == nil {
			value = plain
		}
		switch key {
		case "ID":
			name = value
		case "VERSION_ID":
			version = value
		}
	}
	return name, version
}
