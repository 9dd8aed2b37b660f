package desired

import (
	"math"
	"strconv"
)

// Policing is the columns ingress_policing_... of an Interface row.
type Policing struct {
	Rate       uint32 // kbit/s, 0: not bounded
	Burst      uint32 // kbit, 0: the default
	KpktsRate  uint32 // 1000 packets a second, 0: not bounded
	KpktsBurst uint32 // 1000 packets, 0: the default
}

// readPolicing reads them. A number beyond what can be counted is no less a bound when it is brought down.
func (i *Interface) readPolicing(row Row) {
	number := func(column string, limit int64) uint32 {
		n, _ := row.Get(column).Int()
		if n > limit {
			i.Report.warn("%s=%d: more than %d, which is used", column, n, limit)
		}
		return uint32(min(max(n, 0), limit))
	}
	const kpkts = math.MaxUint32 / 1000
	i.Police = Policing{
		Rate:       number("ingress_policing_rate", math.MaxUint32),
		Burst:      number("ingress_policing_burst", math.MaxUint32),
		KpktsRate:  number("ingress_policing_kpkts_rate", kpkts),
		KpktsBurst: number("ingress_policing_kpkts_burst", kpkts),
	}
	if i.Kind == Patch && (i.Police.Rate != 0 || i.Police.KpktsRate != 0) {
		i.Report.warn("ingress_policing_rate has no effect on a patch port")
		i.Police = Policing{}
	}
}

// readVLANLimit reads vlan-limit. Flows here always match on two VLAN headers.
func readVLANLimit(o *options) {
	v, ok := o.take("vlan-limit")
	if !ok {
		return
	}
	switch n, err := strconv.Atoi(v); {
	case err != nil || n < 0:
		o.fail("vlan-limit", v, "not a number of VLAN headers")
	case n == 1:
		o.report.warn("%s:vlan-limit=1: flows match on two VLAN headers all the same", o.column)
	}
}
