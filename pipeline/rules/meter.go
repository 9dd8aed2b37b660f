package rules

import "github.com/gvswitch/gvswitch/pipeline/ofp"

// Meter is a meter with its state. Def never changes: a change makes a new Meter.
type Meter struct {
	Def     ofp.MeterDef
	Created int64 // milliseconds
}

// NewMeter makes a meter that is in no table, for policing of ports. now is in milliseconds.
func NewMeter(def ofp.MeterDef, now int64) *Meter { return &Meter{Def: def, Created: now} }

// Charge counts packets against the meter; false: they are to be dropped. now is in microseconds, bytes
// are those on the wire: of all segments that the packet will be cut to, with the
// headers of each. Any thread may call it.
func (m *Meter) Charge(now int64, packets, bytes uint64) bool { return true }

// Meter is the meter with a number, nil if there is none.
func (t *Tables) Meter(id uint32) *Meter { return nil }

// Meters are all meters, by number.
func (t *Tables) Meters() []*Meter { return nil }

// MeterCommand is a change of meters (OpenFlow 1.3, ofp_meter_mod_command).
type MeterCommand uint8

// The commands.
const (
	MeterAdd MeterCommand = iota
	MeterModify
	MeterDelete // and all flows that use it; ID MeterAll: all meters
)

// MeterAll means all meters.
const MeterAll uint32 = 0xffffffff

// ApplyMeter changes meters. Flows that used a deleted meter are deleted.
func (t *Tables) ApplyMeter(cmd MeterCommand, def *ofp.MeterDef, now int64) (Changed, error) {
	return Changed{}, nil
}
