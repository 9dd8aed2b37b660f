package xlate

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/pipeline/odp"
)

// Trace collects an account of one Run. The zero value is ready.
type Trace struct {
	// Names, if not nil, knows the ports' names. OpenFlow numbers are shown otherwise.
	Names flow.PortNames
	// DPNames knows the names of datapath ports.
	DPNames odp.Names
	text    []byte
}

// String is the account as ofproto/trace shows it.
func (t *Trace) String() string { return string(t.text) }
