package daemon

import (
	"fmt"
	"strings"

	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/internal/daemon/reconcile"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

func (c *commands) changeMeter(args []string) (control.Result, error) {
	b, err := c.bridge(args[0])
	if err != nil {
		return control.Result{}, err
	}
	var def ofp.MeterDef
	command := rules.MeterAdd
	switch args[1] {
	case "add":
		def, err = ofp.ParseMeter(operand(args, 2))
	case "modify":
		command = rules.MeterModify
		def, err = ofp.ParseMeter(operand(args, 2))
	case "delete":
		command = rules.MeterDelete
		def.ID, err = ofp.ParseMeterID(operand(args, 2))
	default:
		err = fmt.Errorf("unknown change %q", args[1])
	}
	if err != nil {
		return control.Result{}, err
	}
	_, err = b.DP.Tables().ApplyMeter(command, &def, c.dp.Now())
	c.flowsChanged(b, err)
	return control.Result{}, plain(err)
}

// meters returns one meter or all.
func (c *commands) meters(args []string) (*reconcile.BridgeEntry, []*rules.Meter, error) {
	b, err := c.bridge(args[0])
	if err != nil {
		return nil, nil, err
	}
	id, err := ofp.ParseMeterID(operand(args, 1))
	if err != nil {
		return nil, nil, err
	}
	if id == ofp.MeterAll {
		return b, b.DP.Tables().Meters(), nil
	}
	m := b.DP.Tables().Meter(id)
	if m == nil {
		return nil, nil, fmt.Errorf("meter %d: there is no such meter", id)
	}
	return b, []*rules.Meter{m}, nil
}

func (c *commands) dumpMeters(args []string) (control.Result, error) {
	_, meters, err := c.meters(args)
	if err != nil {
		return control.Result{}, err
	}
	var out []byte
	values := []string{}
	for _, m := range meters {
		start := len(out)
		out = m.Def.Append(out)
		values = append(values, string(out[start:]))
		out = append(out, '\n')
	}
	return control.Result{Text: string(out), Value: values}, nil
}

// meterCounters are a meter's counters for programs.
type meterCounters struct {
	Meter     uint32         `json:"meter"`
	FlowCount int            `json:"flow_count"`
	Packets   uint64         `json:"packet_in_count"`
	Bytes     uint64         `json:"byte_in_count"`
	Duration  float64        `json:"duration"` // seconds
	Bands     []bucketCounts `json:"bands"`
}

func (c *commands) meterStats(args []string) (control.Result, error) {
	b, meters, err := c.meters(args)
	if err != nil {
		return control.Result{}, err
	}
	_, used := references(b.DP.Tables())
	now := c.dp.Now()
	var out strings.Builder
	values := []meterCounters{}
	for _, m := range meters {
		packets, bytes := m.Counts()
		v := meterCounters{m.Def.ID, used[m.Def.ID], packets, bytes, float64(max(now-m.Created, 0)) / 1000, []bucketCounts{}}
		fmt.Fprintf(&out, "meter:%d flow_count:%d packet_in_count:%d byte_in_count:%d duration:%gs bands:\n", v.Meter, v.FlowCount, packets, bytes, v.Duration)
		for i, band := range m.Bands {
			packets, bytes := band.Counts()
			fmt.Fprintf(&out, "%d: packet_count:%d byte_count:%d\n", i, packets, bytes)
			v.Bands = append(v.Bands, bucketCounts{packets, bytes})
		}
		values = append(values, v)
	}
	return control.Result{Text: out.String(), Value: values}, nil
}

func (c *commands) meterFeatures(args []string) (control.Result, error) {
	if _, err := c.bridge(args[0]); err != nil {
		return control.Result{}, err
	}
	return text("max_meter:%d max_bands:8 max_color:0\nband_types: drop\ncapabilities: kbps pktps burst stats\n", ofp.MeterMax)
}
