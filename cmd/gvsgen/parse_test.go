package main

import (
	"fmt"
	"testing"

	"github.com/gvswitch/gvswitch/internal/gen"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]rate{
		"max": {}, "1000": {frames: 1000}, "20kpps": {frames: 20000}, "1.5Mpps": {frames: 1.5e6}, "2M": {frames: 2e6}, "500Mbps": {bits: 5e8},
		"10Gbit/s": {bits: 1e10}, "50%": {share: .5}, "0.5": {frames: .5},
	} {
		if got, err := parseRate("rate", text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "x", "0", "-1", "1kk", "101%", "5k%", "NaN", "Inf", "pps", "1e400"} {
		if got, err := parseRate("rate", text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestRateUnits(t *testing.T) {
	for _, c := range []struct {
		r     rate
		speed uint64
		want  float64
	}{
		{rate{frames: 7}, 0, 7},
		{rate{bits: 8e6}, 0, 10_000},
		{rate{share: .5}, 1e9, .5 * 1e9 / 8 / 124},
		{rate{}, 0, 0},
	} {
		if got, err := c.r.pps("rate", c.speed, 100, "p"); err != nil || got != c.want {
			t.Errorf("%+v: %v, %v", c.r, got, err)
		}
	}
	if _, err := (rate{share: .5}).pps("rate", 0, 100, "virtio-user:path=x"); err == nil {
		t.Error("a share of a speed that is not known")
	}
}

func TestParseTags(t *testing.T) {
	for text, want := range map[string][]gen.Tag{
		"":                 nil,
		"10":               {{TPID: 0x8100, VID: 10, VIDs: 1}},
		"10-12/5":          {{TPID: 0x8100, VID: 10, VIDs: 3, PCP: 5}},
		"100,200":          {{TPID: 0x88a8, VID: 100, VIDs: 1}, {TPID: 0x8100, VID: 200, VIDs: 1}},
		"0x8100:1,33024:2": {{TPID: 0x8100, VID: 1, VIDs: 1}, {TPID: 0x8100, VID: 2, VIDs: 1}},
	} {
		if got, err := parseTags(text); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"x", "4096", "1,2,3", "5-4", "1/8", "0x9100:1", "1-", ","} {
		if got, err := parseTags(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestParsePort(t *testing.T) {
	for text, want := range map[string]string{
		"virtio-user:path=/run/x,queues=2": "gen1 map[path:/run/x queues:2]",
		"system:eth0":                      "eth0 map[]",
		"veth:v0,peer=v1":                  "v0 map[peer:v1]",
		"tap:":                             "gen1 map[]",
	} {
		p, err := parsePort(text, 1)
		if got := fmt.Sprint(p.name, " ", p.options.Map); err != nil || got != want || p.open == nil {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "eth0", "nothing:x", "tap:a,b", "tap:a,x=1,x=2", "tap:a,=2"} {
		if p, err := parsePort(text, 0); err == nil {
			t.Errorf("%q: %v", text, p)
		}
	}
}
