package rules

import "github.com/gvswitch/gvswitch/pipeline/ofp"

// index finds the ops of a large change that concern a rule: those of the same match and priority,
// and all that are not about one rule.
type index struct {
	strict map[identity]int32 // the first op, from 1
	next   []int32            // by op, the next one of the same identity
	loose  []int32            // from 1, ascending
}

type identity struct {
	tag      uint32
	priority uint16
	table    uint8
}

func (r *Rule) identity() identity { return identity{r.tag, r.Priority, r.Table} }

func (ix *index) fill(ops []op) {
	ix.strict = make(map[identity]int32, len(ops))
	ix.next = make([]int32, len(ops))
	for i := len(ops) - 1; i >= 0; i-- {
		if ops[i].strict() {
			id := ops[i].rule.identity()
			ix.next[i] = ix.strict[id]
			ix.strict[id] = int32(i + 1)
		}
	}
	for i := range ops {
		if !ops[i].strict() {
			ix.loose = append(ix.loose, int32(i+1))
		}
	}
}

// verdict is what ops would have done to a rule that came or went meanwhile.
type verdict struct {
	dead   bool // deleted or replaced
	change *op  // the last modification
	kept   *op  // Replace kept it
}

func (ix *index) verdict(ops []op, r *Rule) (v verdict) {
	strict, loose := ix.strict[r.identity()], ix.loose
	for {
		// The next of both kinds, in the order of ops.
		var o *op
		switch {
		case strict != 0 && (len(loose) == 0 || strict < loose[0]):
			o, strict = &ops[strict-1], ix.next[strict-1]
		case len(loose) != 0:
			o, loose = &ops[loose[0]-1], loose[1:]
		default:
			return v
		}
		if o.kept == r {
			v.kept = o
		}
		added := o.used && o.rule.same(r) && o.rule.Table == r.Table
		switch {
		case v.dead || !added && !o.selects(r):
		case !added && o.isModify():
			v.change = o
		case o.cmd == ofp.Add || added || !o.isModify():
			v.dead = true
		}
	}
}
