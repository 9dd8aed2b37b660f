package vhostuser

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// The protocol tests are the files in testdata/session. Each command is
//
//	new [features=0x..] [protocol=0x..] [pairs=N]   begins a connection
//	send                                            sends the messages below it, one a line
//	fail map|start N                                lets the next N calls of the device fail
//	pairs N                                         the control queue says how many are in use
//	refit                                           the rings that the guest receives on are made anew
//	close                                           ends the connection
//
// A message line is NAME ARGUMENTS [need_reply] [fds=KIND[:SIZE[:FILE]],...], see
// encode. The output has a line for each thing that the session asks of the device, for
// the reply, and for an error that ends the connection.

// recorder is a Device that writes down what it is asked, and checks that each
// descriptor is closed exactly once.
type recorder struct {
	out      *strings.Builder
	open     map[int]string
	nextAvl  map[int]uint32
	failMap  int
	failFrom int
	channel  int
	inflight bool // there is a table
}

func (r *recorder) printf(format string, args ...any) { fmt.Fprintf(r.out, format+"\n", args...) }

func (r *recorder) Start(rings []RingStart) []error {
	errs := make([]error, len(rings))
	for i, s := range rings {
		v := s.Vring
		for _, fd := range []FD{v.Kick, v.Call} {
			if _, open := r.open[fd.Num]; fd.Num >= 0 && !open {
				r.printf("  BUG: vring %d is started with closed descriptor %d", s.Index, fd.Num)
			}
		}
		if r.failFrom > 0 {
			r.failFrom--
			errs[i] = fmt.Errorf("vring %d: failed as asked", s.Index)
			r.printf("  start %d fails", s.Index)
			continue
		}
		r.nextAvl[s.Index] = v.Base
		control := ""
		if s.Control {
			control = " control"
		}
		r.printf("  start %d%s %v size=%d desc=%#x avail=%#x used=%#x base=%d kick=%s call=%s features=%#x",
			s.Index, control, s.State, v.Num, v.Desc, v.Avail, v.Used, v.Base, r.name(v.Kick), r.name(v.Call), s.Features)
		if v.LogUsed {
			r.printf("    used ring logged at %#x", v.LogAddr)
		}
	}
	return errs
}

func (r *recorder) name(fd FD) string {
	if fd.Num < 0 {
		return "-"
	}
	return r.open[fd.Num]
}

// Stop answers as if each ring had moved on by 300 entries.
func (r *recorder) Stop(rings []int) []uint32 {
	out := make([]uint32, len(rings))
	for i, id := range rings {
		out[i] = r.nextAvl[id] + 300
	}
	r.printf("  stop %v", rings)
	return out
}

func (r *recorder) Map(regions []Region) error {
	if r.failMap > 0 {
		r.failMap--
		r.printf("  map fails")
		return fmt.Errorf("map: failed as asked")
	}
	for _, g := range regions {
		r.printf("  map %#x+%#x user=%#x offset=%#x of %s", g.Guest, g.Size, g.User, g.Offset, r.name(g.FD))
	}
	return nil
}

func (r *recorder) Unmap(regions []Region) {
	for _, g := range regions {
		r.printf("  unmap %#x+%#x", g.Guest, g.Size)
	}
}

func (r *recorder) SetLog(l LogArea, all bool) error {
	if l.Size == 0 {
		r.printf("  log -")
		return nil
	}
	if r.failMap > 0 {
		r.failMap--
		r.printf("  log fails")
		return fmt.Errorf("log: failed as asked")
	}
	r.printf("  log %#x bytes from %#x of %s, all marked %v", l.Size, l.Offset, r.name(l.FD), all)
	return nil
}

func (r *recorder) NewInflight(n uint64) (int, error) {
	if r.failMap > 0 {
		r.failMap--
		return -1, fmt.Errorf("inflight: failed as asked")
	}
	const num = 99
	r.open[num] = "inflight"
	r.printf("  new inflight of %#x bytes", n)
	return num, nil
}

func (r *recorder) SetInflight(a InflightArea) error {
	if a.Size == 0 {
		r.inflight = false
		r.printf("  inflight -")
		return nil
	}
	if r.failMap > 0 {
		r.failMap--
		r.printf("  inflight fails")
		return fmt.Errorf("inflight: failed as asked")
	}
	r.inflight = true
	r.printf("  inflight %#x bytes from %#x of %s: %d queues of %d", a.Size, a.Offset, r.name(a.FD), a.Queues, a.QueueSize)
	return nil
}

func (r *recorder) ForgetInflight(vring int) {
	if r.inflight {
		r.printf("  inflight of %d forgotten", vring)
	}
}

func (r *recorder) Redirect(old, replacement int) {
	r.printf("  redirect %s to %s", r.open[old], r.open[replacement])
	r.open[old] = r.open[replacement]
	delete(r.open, replacement)
}

func (r *recorder) Channel(fd int) {
	if r.channel >= 0 {
		delete(r.open, r.channel)
	}
	r.channel = fd
	r.printf("  channel %s", r.name(FD{Num: fd}))
}

func (r *recorder) ResetControl() { r.printf("  control reset") }
func (r *recorder) PostcopyAdvise() (int, error) {
	r.open[900] = "uffd"
	r.printf("  postcopy advise")
	return 900, nil
}

func (r *recorder) PostcopyListen() { r.printf("  postcopy listen") }

func (r *recorder) PostcopyMap(regions []Region) ([]uint64, error) {
	var at []uint64
	for _, g := range regions {
		at = append(at, g.Guest+0xabc000000)
		r.printf("  postcopy map %#x", g.Guest)
	}
	return at, nil
}

func (r *recorder) PostcopyReady() error {
	r.printf("  postcopy ready")
	return nil
}

func (r *recorder) PostcopyEnd() { r.printf("  postcopy end") }

func (r *recorder) IOTLB(m IOTLBMsg) error {
	r.printf("  iotlb %d: %#x+%#x user=%#x perm=%d", m.Type, m.IOVA, m.Size, m.User, m.Perm)
	if m.User == 0xbad {
		return fmt.Errorf("failed as asked")
	}
	return nil
}

func (r *recorder) Config() []byte       { return []byte{2, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0xdc, 5} }
func (r *recorder) SetMTU(mtu uint16)    { r.printf("  mtu %d", mtu) }
func (r *recorder) SendRARP(mac [6]byte) { r.printf("  rarp %x", mac) }
func (r *recorder) Note(err error)       { r.printf("  note: %v", err) }

func (r *recorder) Close(fd int) {
	name, ok := r.open[fd]
	if !ok {
		r.printf("  BUG: descriptor %d closed twice", fd)
		return
	}
	delete(r.open, fd)
	r.printf("  close %s", name)
}

// script runs one file.
type script struct {
	s    *Session
	dev  *recorder
	next int
}

func TestSession(t *testing.T) {
	datadriven.Walk(t, "testdata/session", func(t *testing.T, path string) {
		sc := &script{dev: &recorder{channel: -1}}
		datadriven.RunTest(t, path, sc.run)
	})
}

func (sc *script) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var out strings.Builder
	sc.dev.out = &out
	switch d.Cmd {
	case "new":
		offer := Offer{Features: FeatureProtocol | 1<<32 | 1<<29 | 1<<15, Protocol: ProtocolFeatures, QueuePairs: 1}
		for _, a := range d.CmdArgs {
			v, err := strconv.ParseUint(a.Vals[0], 0, 64)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			switch a.Key {
			case "features":
				offer.Features = v
			case "protocol":
				offer.Protocol = v
			case "pairs":
				offer.QueuePairs = int(v)
			}
		}
		sc.dev.open, sc.dev.nextAvl = map[int]string{}, map[int]uint32{}
		sc.s, sc.next = NewSession(offer, sc.dev), 100
	case "fail":
		n, err := strconv.Atoi(d.CmdArgs[1].Key)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		if d.CmdArgs[0].Key == "map" {
			sc.dev.failMap = n
		} else {
			sc.dev.failFrom = n
		}
	case "send":
		for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
			m, fds, err := sc.encode(line)
			if err != nil {
				d.Fatalf(t, "%s: %v", line, err)
			}
			fmt.Fprintf(&out, "%v\n", m.Request)
			sc.handle(&out, &m, fds)
		}
	case "pairs":
		n, err := strconv.Atoi(d.CmdArgs[0].Key)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		sc.s.SetPairs(n)
	case "refit":
		sc.s.RefitReceive()
	case "close":
		sc.s.Close()
		if n := len(sc.dev.open); n != 0 {
			fmt.Fprintf(&out, "BUG: %d descriptors left open: %v\n", n, sc.dev.open)
		}
	default:
		d.Fatalf(t, "unknown command")
	}
	if out.Len() == 0 {
		return "ok\n"
	}
	return out.String()
}

func (sc *script) handle(out *strings.Builder, m *Message, fds []FD) {
	reply, has, err := sc.s.Handle(m, fds)
	if has {
		fmt.Fprintf(out, "  reply %s\n", describe(reply))
		for _, fd := range reply.FDs {
			fmt.Fprintf(out, "    with %s\n", sc.dev.open[fd])
			sc.dev.Close(fd)
		}
	}
	if err != nil {
		fmt.Fprintf(out, "  ends: %v\n", err)
		sc.s.Close()
	}
}

func describe(m Message) string {
	switch len(m.Payload) {
	case 0:
		return "empty"
	case 8:
		if m.Request == GetVringBase {
			v := parseVringState(m.Payload)
			return fmt.Sprintf("vring %d: %d", v.Index, v.Num)
		}
		return fmt.Sprintf("%#x", le.Uint64(m.Payload))
	}
	return hex.EncodeToString(m.Payload)
}

// encode makes a message of a line. Arguments are, by message:
//
//	SET_VRING_NUM, SET_VRING_BASE, GET_VRING_BASE, SET_VRING_ENABLE   INDEX NUM
//	SET_VRING_ADDR                       INDEX DESC AVAIL USED [LOG]
//	SET_LOG_BASE                         SIZE OFFSET
//	GET_INFLIGHT_FD, SET_INFLIGHT_FD     SIZE OFFSET QUEUES QUEUE_SIZE
//	IOTLB_MSG                            TYPE IOVA SIZE USER PERM
//	SET_MEM_TABLE, ADD_MEM_REG, REM_MEM_REG   GUEST:SIZE:USER:OFFSET ...
//	GET_CONFIG, SET_CONFIG               OFFSET HEX
//	SEND_RARP                            HEX of 6 bytes
//	others                               one number, or nothing
//
// and for all: raw=HEX gives the payload as bytes; the name may be a number.
func (sc *script) encode(line string) (Message, []FD, error) {
	words := strings.Fields(line)
	m := Message{Flags: Version}
	if r, ok := ParseRequest(words[0]); ok {
		m.Request = r
	} else if n, err := strconv.ParseUint(words[0], 0, 32); err == nil {
		m.Request = Request(n)
	} else {
		return m, nil, fmt.Errorf("no message %q", words[0])
	}
	var fds []FD
	var args []string
	var raw *string
	for _, w := range words[1:] {
		switch {
		case w == "need_reply":
			m.Flags |= FlagNeedReply
		case strings.HasPrefix(w, "raw="):
			s := w[4:]
			raw = &s
		case strings.HasPrefix(w, "fds="):
			for _, f := range strings.Split(w[4:], ",") {
				fds = append(fds, sc.fd(f))
			}
		default:
			args = append(args, w)
		}
	}
	if raw != nil {
		b, err := hex.DecodeString(*raw)
		m.Payload = b
		return m, fds, err
	}
	var err error
	m.Payload, err = payload(m.Request, args)
	return m, fds, err
}

func payload(r Request, args []string) ([]byte, error) {
	switch r {
	case SetMemTable, AddMemReg, RemMemReg:
		var regions []Region
		for _, a := range args {
			p := strings.Split(a, ":")
			n, err := numbers(p)
			if err != nil {
				return nil, err
			}
			regions = append(regions, Region{Guest: n[0], Size: n[1], User: n[2], Offset: n[3]})
		}
		if r == SetMemTable {
			return AppendMemTable(nil, regions), nil
		}
		return AppendMemReg(nil, regions[0]), nil
	case SendRARP:
		b, err := hex.DecodeString(args[0])
		return append(b, 0, 0), err
	case GetConfig, SetConfig:
		off, err := numbers(args[:1])
		if err != nil {
			return nil, err
		}
		b, err := hex.DecodeString(args[1])
		return ConfigSpace{Offset: uint32(off[0]), Data: b}.Append(nil), err
	}
	n, err := numbers(args)
	switch {
	case err != nil || len(n) == 0:
		return nil, err
	case r == IOTLBMessage:
		return IOTLBMsg{IOVA: n[1], Size: n[2], User: n[3], Perm: Perm(n[4]), Type: IOTLBType(n[0])}.Append(nil), nil
	case r == SetVringAddr:
		a := VringAddr{Index: uint32(n[0]), Desc: n[1], Avail: n[2], Used: n[3], Log: ^uint64(0)}
		if len(n) > 4 {
			a.Flags, a.Log = vringLog, n[4]
		}
		return a.Append(nil), nil
	case r == GetInflightFD || r == SetInflightFD:
		return InflightArea{Size: n[0], Offset: n[1], Queues: uint16(n[2]), QueueSize: uint16(n[3])}.Append(nil), nil
	case r == SetLogBase:
		return LogArea{Size: n[0], Offset: n[1]}.Append(nil), nil
	case len(n) == 2:
		return VringState{uint32(n[0]), uint32(n[1])}.Append(nil), nil
	}
	return AppendU64(nil, n[0]), nil
}

func numbers(words []string) ([]uint64, error) {
	var out []uint64
	for _, w := range words {
		n, err := strconv.ParseUint(w, 0, 64)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

// fd makes a descriptor of KIND[:SIZE[:FILE]].
func (sc *script) fd(s string) FD {
	p := strings.Split(s, ":")
	fd := FD{Num: sc.next, Page: 4096}
	fd.ID[1] = uint64(sc.next)
	sc.next++
	switch p[0] {
	case "event":
		fd.Kind = KindEventFD
	case "stream":
		fd.Kind = KindStream
	case "mem":
		fd.Kind = KindMemory
	}
	if len(p) > 1 {
		fd.Size, _ = strconv.ParseUint(p[1], 0, 64)
	}
	if len(p) > 2 {
		fd.ID[1], _ = strconv.ParseUint(p[2], 0, 64)
	}
	sc.dev.open[fd.Num] = fmt.Sprintf("%s#%d", p[0], fd.Num)
	return fd
}
