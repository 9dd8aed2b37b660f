package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// factor is something that a peer can be told, and the values it is told.
type factor struct {
	name   string
	values []string
}

// combination is one value of each factor, by the factor's name.
type combination map[string]string

func (c combination) on(name string) bool { return c[name] == "1" || c[name] == "on" }

// title names the combination in the order of the factors.
func (c combination) title(factors []factor) string {
	words := make([]string, len(factors))
	for i, f := range factors {
		words[i] = f.name + "=" + c[f.name]
	}
	return strings.Join(words, ",")
}

// exclusion is a rule by which combinations are left out, because the peer that is
// installed cannot do them. It says why.
type exclusion struct {
	why  string
	hits func(combination) bool
}

// product is each combination of the factors' values, without those that a rule leaves out;
// those are told apart by the rule's words.
func product(factors []factor, rules []exclusion) (all []combination, left map[string]int) {
	all, left = []combination{{}}, map[string]int{}
	for _, f := range factors {
		var longer []combination
		for _, c := range all {
			for _, v := range f.values {
				d := combination{f.name: v}
				for name, value := range c {
					d[name] = value
				}
				longer = append(longer, d)
			}
		}
		all = longer
	}
	all = slices.DeleteFunc(all, func(c combination) bool {
		for _, r := range rules {
			if r.hits(c) {
				left[r.why]++
				return true
			}
		}
		return false
	})
	return all, left
}

// pairs are all pairs of two factors' values in c.
func pairs(factors []factor, c combination) []string {
	var p []string
	for i, f := range factors {
		for _, g := range factors[i+1:] {
			p = append(p, f.name+"="+c[f.name]+" "+g.name+"="+c[g.name])
		}
	}
	return p
}

// pairwise is a small part of all in which each pair of values occurs that occurs in all: again
// and again the combination that has the most pairs not seen yet.
func pairwise(factors []factor, all []combination) []combination {
	missing := map[string]bool{}
	for _, c := range all {
		for _, p := range pairs(factors, c) {
			missing[p] = true
		}
	}
	var chosen []combination
	for len(missing) > 0 {
		var best combination
		most := 0
		for _, c := range all {
			n := 0
			for _, p := range pairs(factors, c) {
				if missing[p] {
					n++
				}
			}
			if n > most {
				best, most = c, n
			}
		}
		chosen = append(chosen, best)
		for _, p := range pairs(factors, best) {
			delete(missing, p)
		}
	}
	return chosen
}

// matrix runs a test on the combinations of the factors: on all of them in a soak run, else on a
// part with all pairs. What the rules leave out is printed.
func matrix(t *testing.T, factors []factor, rules []exclusion, run func(*testing.T, combination)) {
	t.Helper()
	all, left := product(factors, rules)
	for why, n := range left {
		t.Logf("left out: %d combinations: %s", n, why)
	}
	chosen := all
	if !soak {
		chosen = pairwise(factors, all)
	}
	t.Logf("%d of %d combinations", len(chosen), len(all))
	for _, c := range chosen {
		t.Run(c.title(factors), func(t *testing.T) { run(t, c) })
	}
}

func TestPairwise(t *testing.T) {
	factors := []factor{{"a", []string{"0", "1", "2"}}, {"b", []string{"0", "1"}}, {"c", []string{"0", "1"}}, {"d", []string{"0", "1"}}}
	rules := []exclusion{{"a is 2 only with b", func(c combination) bool { return c["a"] == "2" && c["b"] == "0" }}}
	all, left := product(factors, rules)
	if len(all) != 20 || left[rules[0].why] != 4 {
		t.Errorf("%d combinations, left out %v; want 20, and 4", len(all), left)
	}
	chosen := pairwise(factors, all)
	for i, f := range factors {
		for _, g := range factors[i+1:] {
			for _, v := range f.values {
				for _, w := range g.values {
					impossible := f.name == "a" && v == "2" && g.name == "b" && w == "0"
					seen := slices.ContainsFunc(chosen, func(c combination) bool { return c[f.name] == v && c[g.name] == w })
					if seen == impossible {
						t.Errorf("%s=%s with %s=%s: chosen is %v", f.name, v, g.name, w, seen)
					}
				}
			}
		}
	}
	if len(chosen) > 8 {
		t.Errorf("%d combinations chosen, too many: %s", len(chosen), fmt.Sprint(chosen))
	}
}
