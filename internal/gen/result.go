package gen

import (
	"time"

	"github.com/gvswitch/gvswitch/packet"
)

// Result is what a trial came to. The names of its JSON form stay.
type Result struct {
	Seconds float64      `json:"seconds"` // of sending
	Rate    float64      `json:"rate"`    // frames per second and port that were asked for; 0: as many as possible
	Ports   []PortResult `json:"ports"`
	Total   PortResult   `json:"total"`
}

// PortResult is what one port sent and received.
type PortResult struct {
	Name          string            `json:"name,omitempty"`
	Sent          uint64            `json:"sent"`
	SentBytes     uint64            `json:"sent_bytes"`
	Refused       uint64            `json:"refused"` // frames that were due and that the port had no room for
	Skipped       uint64            `json:"skipped"` // frames that were due and that the generator was too late for
	Received      uint64            `json:"received"`
	ReceivedBytes uint64            `json:"received_bytes"`
	Lost          uint64            `json:"lost"` // frames that were sent to this port and did not come
	Duplicate     uint64            `json:"duplicate"`
	Reordered     uint64            `json:"reordered"`
	Corrupt       uint64            `json:"corrupt"`
	BadMark       uint64            `json:"bad_mark"`
	BadData       uint64            `json:"bad_data"`
	BadSum        uint64            `json:"bad_sum"`
	TooLate       uint64            `json:"too_late"`
	Stray         uint64            `json:"stray"`
	Foreign       uint64            `json:"foreign"`
	Errors        map[string]uint64 `json:"errors,omitempty"` // by the names of the switch's drop reasons
	SentPPS       float64           `json:"sent_pps"`
	ReceivedPPS   float64           `json:"received_pps"`
	SentBPS       float64           `json:"sent_bps"` // bits of frames without CRC, per second
	ReceivedBPS   float64           `json:"received_bps"`
	Latency       *Latency          `json:"latency_us,omitempty"`
}

// Latency is the age of frames at their arrival in microseconds.
type Latency struct {
	N    uint64  `json:"n"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99.9"`
	Max  float64 `json:"max"`
}

func (b *Bench) result(t Trial, took time.Duration) Result {
	r := Result{Seconds: took.Seconds(), Rate: t.Rate}
	var ages Histogram
	for i, port := range b.ports.all {
		p := PortResult{Name: port.Name}
		b.countSent(i, &p)
		var from PortResult
		b.countSent((i+len(b.ports.all)-1)%len(b.ports.all), &from)
		b.countReceived(i, &p, from.Sent)
		b.countReflected(i, &p)
		p.Latency = b.latency(&b.checkers[i].ages)
		ages.Merge(&b.checkers[i].ages)
		p.rates(took)
		r.Ports = append(r.Ports, p)
		r.Total.add(&p)
	}
	r.Total.rates(took)
	r.Total.Latency = b.latency(&ages)
	return r
}

func (b *Bench) countSent(i int, p *PortResult) {
	for _, s := range b.senders[i] {
		p.Sent += s.stats.Packets.Load()
		p.SentBytes += s.stats.Bytes.Load()
		p.Refused += s.refused.Load()
		p.Skipped += s.skipped.Load()
		for reason := range packet.NumDropReasons {
			if reason != packet.TxRingFull {
				p.fail(reason, s.stats.Drops[reason].Load())
			}
		}
	}
}

// countReflected adds what port i sent back.
func (b *Bench) countReflected(i int, p *PortResult) {
	for _, r := range b.receivers[i] {
		if r.mirror == nil {
			continue
		}
		p.Sent += r.mirror.stats.Packets.Load()
		p.SentBytes += r.mirror.stats.Bytes.Load()
		for reason := range packet.NumDropReasons {
			p.fail(reason, r.mirror.stats.Drops[reason].Load())
		}
	}
}

func (b *Bench) countReceived(i int, p *PortResult, sent uint64) {
	c := b.checkers[i]
	p.Received, p.ReceivedBytes = c.Unique.Load(), c.Bytes.Load()
	p.Duplicate, p.Reordered, p.Corrupt = c.Duplicate.Load(), c.Reordered.Load(), c.Corrupt.Load()
	p.BadMark, p.BadData, p.BadSum = c.BadMark.Load(), c.BadData.Load(), c.BadSum.Load()
	p.TooLate, p.Stray, p.Foreign = c.TooLate.Load(), c.Stray.Load(), c.Foreign.Load()
	if !b.cfg.SendOnly {
		p.Lost = sent - min(sent, p.Received)
	}
	for _, r := range b.receivers[i] {
		for reason := range packet.NumDropReasons {
			p.fail(reason, r.stats.Drops[reason].Load())
		}
	}
}

func (p *PortResult) fail(reason packet.DropReason, n uint64) {
	if n == 0 {
		return
	}
	if p.Errors == nil {
		p.Errors = map[string]uint64{}
	}
	p.Errors[reason.String()] += n
}

func (p *PortResult) add(q *PortResult) {
	p.Sent += q.Sent
	p.SentBytes += q.SentBytes
	p.Refused += q.Refused
	p.Skipped += q.Skipped
	p.Received += q.Received
	p.ReceivedBytes += q.ReceivedBytes
	p.Lost += q.Lost
	p.Duplicate += q.Duplicate
	p.Reordered += q.Reordered
	p.Corrupt += q.Corrupt
	p.BadMark += q.BadMark
	p.BadData += q.BadData
	p.BadSum += q.BadSum
	p.TooLate += q.TooLate
	p.Stray += q.Stray
	p.Foreign += q.Foreign
	for name, n := range q.Errors {
		if p.Errors == nil {
			p.Errors = map[string]uint64{}
		}
		p.Errors[name] += n
	}
}

func (p *PortResult) rates(took time.Duration) {
	secs := max(took.Seconds(), 1e-9)
	p.SentPPS, p.ReceivedPPS = float64(p.Sent)/secs, float64(p.Received)/secs
	p.SentBPS, p.ReceivedBPS = float64(p.SentBytes)*8/secs, float64(p.ReceivedBytes)*8/secs
}

func (b *Bench) latency(h *Histogram) *Latency {
	if h.N() == 0 {
		return nil
	}
	us := func(ticks uint32) float64 { return float64(b.clock.Duration(ticks).Nanoseconds()) / 1e3 }
	return &Latency{
		N: h.N(), P50: us(h.Percentile(.5)), P90: us(h.Percentile(.9)), P99: us(h.Percentile(.99)), P999: us(h.Percentile(.999)), Max: us(h.Max()),
	}
}
