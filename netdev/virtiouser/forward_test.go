package virtiouser

import (
	"fmt"
	"maps"
	"testing"
)

// combinations are all of split and packed, mergeable and not, in order and not.
func combinations() map[string]map[string]string {
	all := map[string]map[string]string{}
	for i := range 8 {
		b := func(bit int) string { return fmt.Sprint(i&bit != 0) }
		o := map[string]string{"packed": b(1), "mrg_rxbuf": b(2), "in_order": b(4)}
		all[fmt.Sprintf("packed=%s,mrg=%s,order=%s", b(1), b(2), b(4))] = o
	}
	return all
}

func with(o map[string]string, more ...string) map[string]string {
	o = maps.Clone(o)
	for i := 0; i < len(more); i += 2 {
		o[more[i]] = more[i+1]
	}
	return o
}

// Ports of every kind send to each other through a switch, in every layout.
func TestForward(t *testing.T) {
	for name, o := range combinations() {
		for _, layout := range []string{"", "any_layout=false", "indirect=true"} {
			t.Run(name+","+layout, func(t *testing.T) {
				o := o
				switch layout {
				case "any_layout=false":
					o = with(o, "any_layout", "false")
				case "indirect=true":
					o = with(o, "indirect", "true")
				}
				l := newLab(t, o, nil)
				l.pass(t, 0, 0, 1500, 1514)
				l.pass(t, 1, 0, 1500, 1514)
			})
		}
	}
}

func TestRingSizes(t *testing.T) {
	for _, size := range []string{"16", "64", "1024", "4096"} {
		for _, packed := range []string{"false", "true"} {
			t.Run(size+","+packed, func(t *testing.T) {
				l := newLab(t, map[string]string{"queue_size": size, "packed": packed}, nil)
				l.pass(t, 0, 0, 1000, 1514)
			})
		}
	}
}

// The back end connects to a port that listens.
func TestServer(t *testing.T) {
	l := newLab(t, map[string]string{"server": "true"}, nil)
	l.pass(t, 0, 0, 1000, 1514)
	if m := l.ports[0].Info().Status["mode"]; m != "server" {
		t.Errorf("mode %q", m)
	}
}

func TestMultiqueue(t *testing.T) {
	l := newLab(t, map[string]string{"queues": "4"}, map[string]string{"n_rxq": "3"})
	if rx, tx := l.ports[0].Queues(); len(rx) != 3 || len(tx) != 3 {
		t.Fatalf("%d and %d queues, the back end has 3", len(rx), len(tx))
	}
	for q := range 3 {
		l.pass(t, 0, q, 500, 1514)
	}
}
