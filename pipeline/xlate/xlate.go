package xlate

import "github.com/gvswitch/gvswitch/packet"

// Xlate translates, for one thread. Make it with New.
type Xlate struct {
	res Result
}

// New makes an Xlate with all the memory that it will ever use.
func New() *Xlate { return &Xlate{} }

// Run translates a packet.
func (x *Xlate) Run(in *Input) *Result {
	x.res = Result{Final: in.Key, Why: packet.NoRule}
	return &x.res
}
