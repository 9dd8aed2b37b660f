package ofp

import (
	"errors"
	"fmt"
	"strings"
)

// ParseMeter reads a meter as add-meter takes it: "meter=1,pktps,burst,bands=type=drop,rate=10,burst_size=5".
func ParseMeter(text string) (MeterDef, error) {
	var m MeterDef
	i := strings.Index(text, "band")
	if i < 0 {
		return m, errors.New("meter: there are no bands")
	}
	_, bands, ok := strings.Cut(text[i:], "=")
	if !ok {
		return m, errors.New("meter: there are no bands")
	}
	kbps := false
	for head := text[:i]; ; {
		var word string
		if word, head = nextWord(head, meterSeps); word == "" {
			break
		}
		var err error
		switch word {
		case "kbps":
			kbps = true
		case "pktps":
			m.Packets = true
		case "burst":
			m.Burst = true
		case "stats":
			m.Stats = true
		case "meter":
			var value string
			value, head = nextWord(head, meterSeps[1:])
			m.ID, err = meterID(value)
			if err == nil && m.ID == MeterAll {
				err = errors.New("meter: all meters can only be deleted and shown")
			}
		default:
			err = fmt.Errorf("meter: there is no argument %q", word)
		}
		if err != nil {
			return m, err
		}
	}
	switch {
	case m.ID == 0:
		return m, errors.New("meter: there is no meter=NUMBER")
	case kbps == m.Packets:
		return m, errors.New("meter: rates must be in kbps or in pktps")
	}
	return m, m.parseBands(bands)
}

// meterSeps stand between the words of a meter.
const meterSeps = "=, \t\r\n"

// ParseMeterID reads what del-meters and dump-meters take: "meter=N", "meter=all" or "" (all).
func ParseMeterID(text string) (uint32, error) {
	word, rest := nextWord(text, meterSeps)
	if word == "" {
		return MeterAll, nil
	}
	value, rest := nextWord(rest, meterSeps[1:])
	if more, _ := nextWord(rest, meterSeps); word != "meter" || more != "" {
		return 0, fmt.Errorf("meter: %q is not meter=NUMBER or meter=all", text)
	}
	return meterID(value)
}

func meterID(value string) (uint32, error) {
	switch value {
	case "all":
		return MeterAll, nil
	case "controller":
		return MeterController, nil
	case "slowpath":
		return MeterSlowpath, nil
	}
	id, err := parse32(value, "meter")
	if err == nil && (id == 0 || id > MeterMax) {
		err = fmt.Errorf("meter: %s is not in 1 to %d", value, MeterMax)
	}
	return id, err
}

// parseBands reads the bands, each of which begins with its type.
func (m *MeterDef) parseBands(text string) error {
	remark := false
	for {
		var word, value string
		if word, text = nextWord(text, meterSeps); word == "" {
			break
		}
		if value, text = nextWord(text, meterSeps[1:]); value == "" {
			return fmt.Errorf("band: %s: the value is missing", word)
		}
		if word == "type" {
			if err := m.checkBand(remark); err != nil {
				return err
			}
			if value != "drop" && value != "dscp_remark" {
				return fmt.Errorf("band: type %q is neither drop nor dscp_remark", value)
			}
			remark = value == "dscp_remark"
			m.Bands = append(m.Bands, Band{})
			continue
		}
		if len(m.Bands) == 0 {
			return errors.New("band: it must begin with its type")
		}
		band := &m.Bands[len(m.Bands)-1]
		var err error
		switch word {
		case "rate":
			band.Rate, err = parse32(value, "rate")
		case "burst_size":
			band.Burst, err = parse32(value, "burst_size")
		case "prec_level":
			band.Prec, err = parse8(value, "prec_level")
		default:
			err = fmt.Errorf("band: there is no argument %q", word)
		}
		if err != nil {
			return err
		}
	}
	if len(m.Bands) == 0 {
		return errors.New("meter: there are no bands")
	}
	return m.checkBand(remark)
}

// checkBand checks the last band, if there is one.
func (m *MeterDef) checkBand(remark bool) error {
	if len(m.Bands) == 0 {
		return nil
	}
	b := &m.Bands[len(m.Bands)-1]
	switch {
	case remark && b.Prec == 0:
		return errors.New("band: dscp_remark needs a prec_level")
	case !remark && b.Prec != 0:
		return errors.New("band: only dscp_remark has a prec_level")
	case b.Rate == 0:
		return errors.New("band: there is no rate")
	case m.Burst && b.Burst == 0:
		return errors.New("band: with burst it must have a burst_size")
	case !m.Burst && b.Burst != 0:
		return errors.New("band: a burst_size needs burst")
	}
	return nil
}

// Append writes the meter as `ovs-ofctl dump-meters` does, each band in a line of its own, without
// the last end of line.
func (m *MeterDef) Append(b []byte) []byte {
	switch b = append(b, "meter="...); m.ID {
	case MeterAll:
		b = append(b, "all"...)
	case MeterController:
		b = append(b, "controller"...)
	case MeterSlowpath:
		b = append(b, "slowpath"...)
	default:
		b = appendUint(b, "", uint64(m.ID))
	}
	b = append(b, pick(m.Packets, " pktps ", " kbps ")...)
	if m.Burst {
		b = append(b, "burst "...)
	}
	if m.Stats {
		b = append(b, "stats "...)
	}
	b = append(b, "bands="...)
	for i := range m.Bands {
		d := &m.Bands[i]
		b = appendUint(b, pick(d.Prec != 0, "\ntype=dscp_remark rate=", "\ntype=drop rate="), uint64(d.Rate))
		if m.Burst {
			b = appendUint(b, " burst_size=", uint64(d.Burst))
		}
		if d.Prec != 0 {
			b = appendUint(b, " prec_level=", uint64(d.Prec))
		}
	}
	return b
}
