package ofp

import (
	"fmt"
	"strings"
	"testing"
)

// simple is a file of n flows as they are common.
func simple(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "table=0,priority=%d,tcp,in_port=1,nw_src=10.%d.%d.%d,nw_dst=192.168.0.0/16,tp_dst=%d,actions=output:2\n", 100+i%1000, i>>16, i>>8&255, i&255, i%60000)
	}
	return b.String()
}

// BenchmarkParseFlows reads 100,000 flows: the bar for that and all else that loads them is 2 s.
func BenchmarkParseFlows(b *testing.B) {
	text := simple(100_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if mods, err := ParseFlows(text, nil); err != nil || len(mods) != 100_000 {
			b.Fatal(len(mods), err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	mods, err := ParseFlows(simple(1000), nil)
	if err != nil {
		b.Fatal(err)
	}
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out = out[:0]
		for i := range mods {
			out = append(mods[i].Flow.Append(out, nil), '\n')
		}
	}
}
