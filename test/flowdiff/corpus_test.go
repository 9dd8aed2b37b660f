package flowdiff

import (
	"flag"
	"path/filepath"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/datapath/flowtest"
)

var only = flag.String("only", "*", "files of cases that are run")

// The cases hold on Open vSwitch too, but for those that say why not: what we believe the documentation to say is what it
// says.
func TestCasesOnOVS(t *testing.T) {
	t.Parallel()
	o := ovs(t)
	files, err := filepath.Glob("../../datapath/flowtest/testdata/" + *only + ".flow")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of cases, %v", len(files), err)
	}
	began, n := time.Now(), 0
	for _, path := range files {
		cases, err := flowtest.Read(path)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, c := range cases {
			if c.NotOVS != "" {
				continue
			}
			n++
			r, err := c.Run(o)
			if err != nil {
				t.Error(err)
			}
			for _, d := range r.Differences {
				t.Error(d)
			}
		}
	}
	t.Logf("%d cases in %v", n, time.Since(began).Round(time.Millisecond))
}

func ovs(t *testing.T) *OVS {
	t.Helper()
	o, err := Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}
