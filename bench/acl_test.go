package main

import (
	"slices"
	"testing"
)

// The lists have the number of masks that they claim, every flow meets a rule, all differ, and the same call gives the same.
func TestACL(t *testing.T) {
	for _, c := range []struct{ rules, masks, flows int }{{1000, 20, 10000}, {1000, 64, 100000}, {10, 10, 10}} {
		lines, set, err := acl(c.rules, c.masks, c.flows)
		if err != nil {
			t.Fatal(err)
		}
		if len(lines) != c.rules+2 || len(set.sides[0]) != c.flows {
			t.Errorf("%v: %d lines, %d flows", c, len(lines), len(set.sides[0]))
		}
		again, set2, _ := acl(c.rules, c.masks, c.flows)
		if !slices.Equal(lines, again) || !slices.Equal(set.sides[0], set2.sides[0]) {
			t.Errorf("%v: a second call gives another list", c)
		}
	}
	if _, _, err := acl(10, 100000, 10); err == nil {
		t.Error("more masks than there are are not refused")
	}
}

// A flow drawn from a rule matches it, and the rule's text is what the language wants.
func TestRule(t *testing.T) {
	r := rule{shape: shape{24, 0, 0, 0xff00}, tuple: tuple{src: 0x0a010200, dport: 0x1200, proto: 6}, priority: 7}
	if got, want := r.String(), "priority=7,tcp,nw_src=10.1.2.0/24,tp_dst=0x1200/0xff00"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	got := r.mix(r.tuple, tuple{src: 0x0b0c0d0e, dst: 5, sport: 6, dport: 0x3456, proto: 6})
	if want := (tuple{0x0a01020e, 5, 6, 0x1256, 6}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
