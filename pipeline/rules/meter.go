package rules

import (
	"math/bits"
	"sync/atomic"

	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// Meter is a meter with its state. Def never changes: a change makes a new Meter.
type Meter struct {
	Def     ofp.MeterDef
	Created int64 // milliseconds
	Bands   []*Band

	packets, bytes atomic.Uint64
	epoch          atomic.Int64 // microseconds: the first Charge
}

// Band is the state of a band: a token bucket, kept as the time at which the bucket will be full
// again. That is one word, so that any number of threads can charge it with no lock, and a
// thread whose clock is behind can only find the bucket emptier, never fill it.
//
// Times are in microseconds / 2^16: at 100 Gbit/s a packet of 64 bytes is 335 of them, and they last for
// four years of uptime.
type Band struct {
	Def            *ofp.Band
	full           atomic.Int64
	burst          int64 // what the bucket holds, as time
	rate           uint64
	packets, bytes atomic.Uint64
}

const (
	// fine is how many bits of a time are parts of a microsecond.
	fine = 16
	// longest is more than the longest packet has on the wire: 65,535 bytes, cut to segments of 1,448
	// bytes that have headers of 66 bytes each. A burst is never less, or packets
	// of a legal rate would starve.
	longest = 72000
)

// NewMeter makes a meter that is in no table, for policing of ports. now is in milliseconds. Without a burst size
// a band's is what its rate gives in a second.
func NewMeter(def ofp.MeterDef, now int64) *Meter {
	m := &Meter{Def: def, Created: now}
	for i := range m.Def.Bands {
		d := &m.Def.Bands[i]
		b := &Band{Def: d, rate: max(1, uint64(d.Rate))}
		burst := uint64(d.Burst)
		if burst == 0 {
			burst = b.rate
		}
		if def.Packets {
			b.burst = b.time(burst, 1e6) // a full bucket has enough for all segments of a packet
		} else {
			// kbit/s is bit/ms
			b.burst = b.time(max(burst*1000, longest*8), 1000)
		}
		m.Bands = append(m.Bands, b)
	}
	return m
}

// time is how long the band's rate takes for n things, of which it does rate in so
// many microseconds. It is never so long that sums overflow.
func (b *Band) time(n, micros uint64) int64 {
	hi, lo := bits.Mul64(n, micros<<fine)
	if hi >= b.rate {
		return 1 << 60
	}
	q, _ := bits.Div64(hi, lo, b.rate)
	return int64(min(q, 1<<60))
}

// Charge counts packets against the meter; false: they are to be dropped. now is in microseconds, bytes
// are those on the wire: of all segments that the packet will be cut to, with the
// headers of each. Any thread may call it.
func (m *Meter) Charge(now int64, packets, bytes uint64) bool {
	pass, _ := m.Judge(now, packets, bytes)
	return pass
}

// Judge is Charge for meters that also have bands that remark: prec is how much the drop precedence
// of a packet that passes is to be raised.
func (m *Meter) Judge(now int64, packets, bytes uint64) (pass bool, prec uint8) {
	m.packets.Add(packets)
	m.bytes.Add(bytes)
	if m.epoch.Load() == 0 {
		m.epoch.CompareAndSwap(0, max(now-1, 1))
	}
	now = max(now-m.epoch.Load(), 0) << fine
	var hit *Band
	var took uint64 // bit n: band n
	for i, b := range m.Bands {
		if b.take(now, m.cost(b, packets, bytes)) {
			took |= 1 << i
		} else if hit == nil || b.rate > hit.rate {
			hit = b
		}
	}
	if hit == nil {
		return true, 0
	}
	hit.packets.Add(packets)
	hit.bytes.Add(bytes)
	if hit.Def.Prec != 0 {
		return true, hit.Def.Prec
	}
	// What is dropped costs nothing: else bands would starve each other.
	for i, b := range m.Bands {
		if took>>i&1 != 0 {
			b.full.Add(-m.cost(b, packets, bytes))
		}
	}
	return false, 0
}

// cost is what packets cost in a band, as time.
func (m *Meter) cost(b *Band, packets, bytes uint64) int64 {
	if m.Def.Packets {
		return b.time(packets, 1e6)
	}
	return b.time(bytes*8, 1000)
}

// take takes tokens worth cost out of the bucket if they are there. A full bucket has enough for any
// packet: it then owes the rest.
func (b *Band) take(now, cost int64) bool {
	for {
		old := b.full.Load()
		full := max(old, now)
		if full += cost; full-now > max(b.burst, cost) {
			return false
		}
		if b.full.CompareAndSwap(old, full) {
			return true
		}
	}
}

// Counts are what was counted.
func (m *Meter) Counts() (packets, bytes uint64) { return m.packets.Load(), m.bytes.Load() }

// Counts are what exceeded the band.
func (b *Band) Counts() (packets, bytes uint64) { return b.packets.Load(), b.bytes.Load() }

// Meter is the meter with a number, nil if there is none.
func (t *Tables) Meter(id uint32) *Meter { return t.meters.get(id) }

// Meters are all meters, by number.
func (t *Tables) Meters() []*Meter { return t.meters.values() }

// MeterCommand is a change of meters (OpenFlow 1.3, ofp_meter_mod_command).
type MeterCommand uint8

// The commands.
const (
	MeterAdd MeterCommand = iota
	MeterModify
	MeterDelete // and all flows that use it; ID MeterAll: all meters
)

// MeterAll means all meters, MeterMax is the last number (OpenFlow 1.3, ofp_meter).
const (
	MeterAll uint32 = 0xffffffff
	MeterMax uint32 = 0xffff0000
)

// ApplyMeter changes meters. Flows that used a deleted meter are deleted. An error is an *Error. A
// meter matters to the datapath only: its change has no tags but those of deleted flows.
func (t *Tables) ApplyMeter(cmd MeterCommand, def *ofp.MeterDef, now int64) (Changed, error) {
	if cmd == MeterDelete {
		return t.deleteMeter(def.ID, now)
	}
	t.lockSmall()
	defer t.mu.Unlock()
	old := t.Meter(def.ID)
	switch {
	case def.ID == 0 || def.ID > MeterMax:
		return Changed{}, refuse(MeterInvalid, "meter %d: numbers are 1 to %d", def.ID, MeterMax)
	case old != nil && cmd == MeterAdd:
		return Changed{}, refuse(MeterExists, "meter %d exists", def.ID)
	case old == nil && cmd == MeterModify:
		return Changed{}, refuse(UnknownMeter, "meter %d does not exist", def.ID)
	}
	for i := range def.Bands {
		if def.Bands[i].Rate == 0 {
			return Changed{}, refuse(MeterInvalid, "meter %d: band %d has no rate", def.ID, i+1)
		}
	}
	m := NewMeter(*def, now)
	ch := Changed{Version: t.Version(), Added: 1}
	if old != nil {
		m.Created = old.Created
		ch.Added, ch.Modified = 0, 1
	}
	t.meters.set(def.ID, m)
	ch.Version = t.step(^FreeTags)
	return ch, nil
}

func (t *Tables) deleteMeter(id uint32, now int64) (Changed, error) {
	if id != MeterAll && t.Meter(id) == nil {
		return Changed{Version: t.Version()}, nil
	}
	ch, err := t.deleteUsers(ofp.GroupAny, id, now)
	if err != nil {
		return ch, err
	}
	t.lockSmall()
	defer t.mu.Unlock()
	for _, e := range t.meters.all() {
		if e.id == id || id == MeterAll {
			t.meters.set(e.id, nil)
			ch.Removed++
		}
	}
	ch.Version = t.step(^FreeTags)
	return ch, nil
}
