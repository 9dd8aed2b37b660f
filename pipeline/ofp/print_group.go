package ofp

import (
	"strconv"

	"github.com/gvswitch/gvswitch/flow"
)

// groupTypes are the names of the types.
var groupTypes = [...]string{"all", "select", "indirect", "ff"}

// Append writes the group as a line of `ovs-ofctl dump-groups`, without the end of the line:
// " group_id=1,type=select,bucket=bucket_id:0,weight:5,actions=output:1".
func (g *GroupDef) Append(b []byte, n Names) []byte {
	b = appendUint(b, " group_id=", uint64(g.ID))
	b = append(append(b, ",type="...), groupTypes[g.Type]...)
	if g.Method != "" {
		b = append(append(b, ",selection_method="...), g.Method...)
		if g.Param != 0 {
			b = appendUint(b, ",selection_method_param=", g.Param)
		}
		switch {
		case len(g.Fields) == 1:
			b = g.appendFields(append(b, ",fields="...))
		case len(g.Fields) > 1:
			b = append(g.appendFields(append(b, ",fields("...)), ')')
		}
	}
	for i := range g.Buckets {
		b = g.Buckets[i].append(append(b, ",bucket="...), g.Type, n)
	}
	return b
}

func (g *GroupDef) appendFields(b []byte) []byte {
	for i, f := range g.Fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, setName(f)...)
		if m := g.FieldMask[i]; m != f.All() {
			b = appendFieldMask(append(b, '='), m, f)
		}
	}
	return b
}

// appendFieldMask writes the bits of a field that count.
func appendFieldMask(b []byte, m flow.Value, f *flow.Field) []byte {
	return f.Append(b, m, f.All(), nil)
}

func (k *Bucket) append(b []byte, t GroupType, n Names) []byte {
	if k.ID == BucketAll {
		b = append(b, "bucket_id:all,"...)
	} else {
		b = append(appendUint(b, "bucket_id:", uint64(k.ID)), ',')
	}
	if t == GroupSelect && k.Weight != 1 {
		b = append(appendUint(b, "weight:", uint64(k.Weight)), ',')
	}
	if k.WatchPort != PortNone {
		b = append(flow.AppendPort(append(b, "watch_port:"...), k.WatchPort, n), ',')
	}
	if k.WatchGroup != GroupAny {
		b = append(strconv.AppendUint(append(b, "watch_group:"...), uint64(k.WatchGroup), 10), ',')
	}
	return AppendActions(append(b, "actions="...), k.Actions, n)
}
