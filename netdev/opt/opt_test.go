package opt

import (
	"fmt"
	"testing"
)

func TestReader(t *testing.T) {
	for _, c := range []struct {
		options map[string]string
		want    string
	}{
		{nil, "def true 7 <nil>"},
		{map[string]string{"s": "x", "b": "false", "i": "9"}, "x false 9 <nil>"},
		{map[string]string{"b": "yes"}, `def true 7 p0: options:b=yes: must be true or false`},
		{map[string]string{"b": ""}, `def true 7 p0: options:b=: must be true or false`},
		{map[string]string{"i": ""}, `def true 7 p0: options:i=: must be a number from 1 to 9`},
		{map[string]string{"i": "x"}, `def true 7 p0: options:i=x: must be a number from 1 to 9`},
		{map[string]string{"i": "10"}, `def true 7 p0: options:i=10: must be a number from 1 to 9`},
		{map[string]string{"z": "", "y": "1"}, `def true 7 p0: options:y=1: not an option of this type of port`},
		{map[string]string{"in-order": "1"}, `def true 7 p0: options:in-order=1: not an option of this type of port, but in_order is`},
		{map[string]string{"i": "0", "z": ""}, `def true 7 p0: options:i=0: must be a number from 1 to 9`},
	} {
		r := New("p0", c.options)
		s, b, i := r.String("s", "def"), r.Bool("b", true), r.Int("i", 7, 1, 9)
		r.Bool("in_order", true)
		if got := fmt.Sprint(s, " ", b, " ", i, " ", r.Done()); got != c.want {
			t.Errorf("%v: got %s, want %s", c.options, got, c.want)
		}
	}
	m := map[string]string{"s": "x"}
	New("p0", m).String("s", "")
	if len(m) != 1 {
		t.Error("the options changed")
	}
}
