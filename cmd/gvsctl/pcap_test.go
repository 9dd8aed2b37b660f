package main

import (
	"slices"
	"testing"
)

func TestReadPcap(t *testing.T) {
	for _, c := range []struct {
		line, port, file string
		args             []string
	}{
		{"-i p1", "p1", "", []string{"--text"}},
		{"-i p1 -d rx -w x.pcapng --filter tcp,tp_dst=80 --count 5 --snaplen=64", "p1", "x.pcapng", []string{"--dir=rx", "--filter=tcp,tp_dst=80", "--count=5", "--snaplen=64"}},
		{"--interface=p1 -w -", "p1", "-", nil},
		{"-c 7 -ip1", "p1", "", []string{"--count=7", "--text"}},
	} {
		got, err := readPcap(words(c.line))
		if err != nil || got.port != c.port || got.file != c.file || !slices.Equal(got.args, c.args) {
			t.Errorf("%s: %+v, %v", c.line, got, err)
		}
	}
	for _, line := range []string{"", "p1", "-i p1 p2", "-i", "-i p1 -x"} {
		if got, err := readPcap(words(line)); err == nil {
			t.Errorf("%q: %+v, no error", line, got)
		}
	}
}
