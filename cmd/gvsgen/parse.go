package main

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/internal/cpu"
	"github.com/gvswitch/gvswitch/internal/gen"
)

func refuse(option, value, reason string, args ...any) error {
	return &gen.OptionError{Option: option, Value: value, Reason: fmt.Sprintf(reason, args...)}
}

// rate is how fast to send, in one of several units.
type rate struct {
	frames float64 // per second; 0 as all others: as many as possible
	bits   float64
	share  float64 // of the port's speed
}

var multiples = []struct {
	suffix string
	factor float64
}{{"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}}

// parseRate reads "max", "1.5Mpps", "10Gbps", "50%", or a bare number of frames per second.
func parseRate(option, text string) (r rate, err error) {
	if text == "max" {
		return r, nil
	}
	number, to := text, &r.frames
	for _, u := range []struct {
		suffix string
		to     *float64
	}{{"pps", &r.frames}, {"bps", &r.bits}, {"bit/s", &r.bits}, {"%", &r.share}} {
		if n, ok := strings.CutSuffix(text, u.suffix); ok {
			number, to = n, u.to
			break
		}
	}
	factor := 1.0
	if to == &r.share {
		factor = 0.01
	}
	for _, m := range multiples {
		if n, ok := strings.CutSuffix(number, m.suffix); ok && to != &r.share {
			number, factor = n, m.factor
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v <= 0 || to == &r.share && v > 100 {
		return rate{}, refuse(option, text, "must be max, or a positive number of frames or bits per second as 1000, 1.5Mpps, 10Gbps, or a percentage as 50%%")
	}
	*to = v * factor
	return r, nil
}

// wireOverhead is what a frame takes on a wire beside its bytes: preamble, CRC and gap.
const wireOverhead = 8 + 4 + 12

// pps converts a rate for a port of a speed in bit/s (0: unknown), with frames of a mean size in bytes.
func (r rate) pps(option string, speed uint64, mean float64, port string) (float64, error) {
	switch {
	case r.bits > 0:
		return r.bits / 8 / mean, nil
	case r.share > 0:
		if speed == 0 {
			return 0, refuse(option, fmt.Sprintf("%g%%", r.share*100), "port %s has no speed to take a share of", port)
		}
		return r.share * float64(speed) / 8 / (mean + wireOverhead), nil
	default:
		return r.frames, nil
	}
}

// parseTags reads --vlan.
func parseTags(text string) (tags []gen.Tag, err error) {
	if text == "" {
		return nil, nil
	}
	items := strings.Split(text, ",")
	if len(items) > 2 {
		return nil, refuse("vlan", text, "at most two tags are possible")
	}
	for i, item := range items {
		tag := gen.Tag{TPID: 0x8100}
		if len(items) == 2 && i == 0 {
			tag.TPID = 0x88a8
		}
		bad := func(what, word string) error { return refuse("vlan", text, "%q is not %s", word, what) }
		if tpid, rest, ok := strings.Cut(item, ":"); ok {
			v, err := strconv.ParseUint(tpid, 0, 16)
			if err != nil || v != 0x8100 && v != 0x88a8 {
				return nil, bad("0x8100 or 0x88a8", tpid)
			}
			tag.TPID, item = uint16(v), rest
		}
		if rest, pcp, ok := strings.Cut(item, "/"); ok {
			v, err := strconv.ParseUint(pcp, 10, 8)
			if err != nil || v > 7 {
				return nil, bad("a priority from 0 to 7", pcp)
			}
			tag.PCP, item = uint8(v), rest
		}
		first, last, isRange := strings.Cut(item, "-")
		lo, err := strconv.ParseUint(first, 10, 16)
		if err != nil || lo > 4095 {
			return nil, bad("a VLAN from 0 to 4095", first)
		}
		hi := lo
		if isRange {
			if hi, err = strconv.ParseUint(last, 10, 16); err != nil || hi > 4095 || hi < lo {
				return nil, bad(fmt.Sprintf("a VLAN from %d to 4095", lo), last)
			}
		}
		tag.VID, tag.VIDs = uint16(lo), int(hi-lo+1)
		tags = append(tags, tag)
	}
	return tags, nil
}

var fields = map[string]gen.Vary{"src-port": gen.VarySrcPort, "dst-port": gen.VaryDstPort, "src-ip": gen.VarySrc, "dst-ip": gen.VaryDst}

func parseVary(text string) (v gen.Vary, err error) {
	for word := range strings.SplitSeq(text, ",") {
		f, ok := fields[word]
		if !ok {
			return 0, refuse("vary", text, "%q is not one of src-ip, dst-ip, src-port, dst-port", word)
		}
		v |= f
	}
	return v, nil
}

// choice is the value of an option that has one of few.
func choice[T any](option, text string, words []string, values ...T) (v T, err error) {
	for i, w := range words {
		if text == w {
			return values[i], nil
		}
	}
	return v, refuse(option, text, "must be one of %s", strings.Join(words, ", "))
}

func parseMAC(option, text string) (net.HardwareAddr, error) {
	a, err := net.ParseMAC(text)
	if err != nil || len(a) != 6 || a[0]&1 != 0 {
		return nil, refuse(option, text, "is not the MAC address of a device")
	}
	return a, nil
}

func parseIP(option, text string, v6 bool) (netip.Addr, error) {
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" || a.Is4In6() {
		return a, refuse(option, text, "is not an IP address")
	}
	if a.Is6() != v6 {
		return a, refuse(option, text, "is of the other IP version (--ipv6 selects IPv6)")
	}
	return a, nil
}

func parsePortNumber(option string, n int) (uint16, error) {
	if n < 0 || n > 65535 {
		return 0, refuse(option, strconv.Itoa(n), "must be a port from 0 to 65535")
	}
	return uint16(n), nil
}

func parseCPUs(text string) (list []int, err error) {
	if text == "" {
		return nil, nil
	}
	allowed, err := cpu.Allowed()
	if err != nil {
		return nil, err
	}
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 {
			return nil, refuse("cpus", text, "%q is not the number of a CPU", word)
		}
		if !slices.Contains(allowed, n) {
			return nil, refuse("cpus", text, "CPU %d is not one of those that gvsgen may use: %s", n, strings.Trim(fmt.Sprint(allowed), "[]"))
		}
		list = append(list, n)
	}
	return list, nil
}
