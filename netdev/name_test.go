package netdev_test

import (
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/netdev"
)

// B75: names are refused before any kernel call, and never cut.
func TestCheckIfName(t *testing.T) {
	for name, want := range map[string]string{
		"eth0":             "",
		"a":                "",
		"abcdefghijklmno":  "",
		"br-int.100@x":     "",
		"...":              "",
		"":                 "empty",
		"abcdefghijklmnop": "16 bytes",
		".":                `"."`,
		"..":               `"."`,
		"a/b":              "visible",
		"/":                "visible",
		"eth0:1":           "visible",
		"a b":              "visible",
		" a":               "visible",
		"a\n":              "visible",
		"a\x00b":           "visible",
		"a\x7f":            "visible",
		"br\u00fccke":      "visible",
	} {
		err := netdev.CheckIfName(name)
		switch {
		case want == "" && err != nil:
			t.Errorf("%q refused: %v", name, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: error %v, want %q in it", name, err, want)
		}
	}
}
