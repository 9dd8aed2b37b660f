package daemon

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/daemon/reconcile"
	"github.com/gvswitch/gvswitch/internal/pcapng"
	"github.com/gvswitch/gvswitch/internal/version"
	"github.com/gvswitch/gvswitch/packet"
)

// pcapCall is what a capture is asked for.
type pcapCall struct {
	cfg    datapath.CaptureConfig
	filter string
	count  uint64 // 0: no end
	text   bool
	names  *flowNames // of the port's bridge
	port   *reconcile.PortEntry
}

const (
	// How long the reader of a capture sleeps while packets come, and while none do.
	pcapBusy = 2 * time.Millisecond
	pcapIdle = 20 * time.Millisecond
)

// pcap streams what a port receives, sends and drops.
func (c *commands) pcap(ctx context.Context, w io.Writer, args []string) (string, error) {
	call, err := c.readPcap(args)
	if err != nil {
		return "", err
	}
	capture, err := c.dp.Capture(call.cfg)
	if err != nil {
		return "", err
	}
	defer capture.Close()
	out := call.sink(w)
	start := time.Now()
	if err := out.flush(); err != nil { // the head: a reader may begin
		return "", err
	}
	n, end, err := call.stream(ctx, capture, out)
	capture.Stop()
	if err != nil {
		return "", err
	}
	missed := capture.Missed()
	err = out.close(pcapng.Stats{Start: start.UnixNano(), End: time.Now().UnixNano(), Accepted: n, Missed: missed})
	return fmt.Sprintf("%d packets captured, %d missed%s", n, missed, end), err
}

// stream passes packets on until there have been enough or ctx ends; what was captured until then is passed on, too. end says why, if
// it was something else.
func (call *pcapCall) stream(ctx context.Context, capture *datapath.Capture, out sink) (n uint64, end string, err error) {
	checked := time.Now()
	last := false
	for {
		before := n
		capture.Read(func(p *datapath.Captured) bool {
			if call.count == 0 || n < call.count {
				err = out.write(p)
				n++
			}
			return err == nil && (call.count == 0 || n < call.count)
		})
		if err == nil {
			err = out.flush()
		}
		if err != nil || last || call.count != 0 && n >= call.count {
			return n, end, err
		}
		pause := pcapIdle
		if n != before {
			pause = pcapBusy
		}
		select {
		case <-ctx.Done():
			last = true
			capture.Stop()
		case <-time.After(pause):
		}
		if now := time.Now(); now.Sub(checked) > 200*time.Millisecond {
			checked = now
			if capture.PortGone() {
				last, end = true, "; the port was removed"
			}
			if err := out.alive(); err != nil {
				return n, end, err
			}
		}
	}
}

// readPcap reads a port and options: --dir=rx|tx|drop|all, --filter=MATCH, --count=N, --snaplen=N, --text.
func (c *commands) readPcap(args []string) (*pcapCall, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("pcap: needs a port")
	}
	directory := c.directory()
	p := directory.Port(args[0])
	if p == nil {
		return nil, fmt.Errorf("no such port: %q", args[0])
	}
	call := &pcapCall{port: p, names: namesOf(directory.Bridge(p.Bridge), true)}
	call.cfg.Port = p.DP
	dir := "all"
	for _, a := range args[1:] {
		name, value, _ := strings.Cut(a, "=")
		switch name {
		case "--dir":
			dir = value
		case "--filter":
			call.filter = value
		case "--count":
			n, err := strconv.ParseUint(value, 10, 63)
			if err != nil || n == 0 {
				return nil, fmt.Errorf("--count %q: not a number of packets", value)
			}
			call.count = n
		case "--snaplen":
			n, err := strconv.ParseUint(value, 10, 31)
			if err != nil || n == 0 {
				return nil, fmt.Errorf("--snaplen %q: not a number of bytes", value)
			}
			call.cfg.Snaplen = int(n)
		case "--text":
			call.text = true
		default:
			return nil, fmt.Errorf("pcap: unknown option %q", a)
		}
	}
	cfg := &call.cfg
	for d := range strings.SplitSeq(dir, ",") {
		cfg.Received = cfg.Received || d == "rx" || d == "all"
		cfg.Sent = cfg.Sent || d == "tx" || d == "all"
		cfg.Dropped = cfg.Dropped || d == "drop" || d == "all"
		if d != "rx" && d != "tx" && d != "drop" && d != "all" {
			return nil, fmt.Errorf("-d %q: not one of rx, tx, drop and all", d)
		}
	}
	m, err := selectorOf(call.filter, call.names)
	if err != nil {
		return nil, fmt.Errorf("--filter %q: %w", call.filter, err)
	}
	cfg.Filter = m
	return call, nil
}

// selectorOf reads a match as ovs-ofctl writes it; "" is none.
func selectorOf(text string, names flow.PortNames) (*flow.Match, error) {
	if text == "" {
		return nil, nil
	}
	m := &flow.Match{}
	return m, m.Parse(text, names)
}

// sink is where captured packets go.
type sink interface {
	write(p *datapath.Captured) error
	flush() error
	close(s pcapng.Stats) error
	alive() error // an error if nobody reads any more
}

func (call *pcapCall) sink(w io.Writer) sink {
	out := output{w}
	if call.text {
		return &textSink{output: out, port: call.port.Name}
	}
	ng := pcapng.NewWriter(w, pcapng.Interface{
		Name: call.port.Name, Description: fmt.Sprintf("port %s of bridge %s", call.port.Name, call.port.Bridge),
		Filter: call.filter, Snaplen: uint32(call.cfg.Snaplen), Application: version.Line("gvswitchd"),
	})
	return &pcapSink{output: out, w: ng}
}

// pcapSink writes pcapng.
type pcapSink struct {
	output
	w *pcapng.Writer
}

func (s *pcapSink) write(p *datapath.Captured) error {
	q := pcapng.Packet{Time: p.Time, Dir: pcapng.Inbound, Len: p.Len, Data: p.Data}
	if p.Dir == datapath.Out {
		q.Dir = pcapng.Outbound
	}
	if p.Drop != packet.DropNone {
		q.Comment = dropComments[p.Drop]
	}
	return s.w.Write(&q)
}

func (s *pcapSink) flush() error               { return s.w.Flush() }
func (s *pcapSink) close(t pcapng.Stats) error { return s.w.Close(t) }

// dropComments are the comments of dropped packets.
var dropComments = func() (c [packet.NumDropReasons]string) {
	for r := range c {
		c[r] = "dropped: " + packet.DropReason(r).String()
	}
	return c
}()

// textSink writes a line for each packet.
type textSink struct {
	output
	port string
	b    []byte
	p    packet.Packet
	k    flow.Key
}

func (s *textSink) write(p *datapath.Captured) error {
	s.b = time.Unix(0, p.Time).AppendFormat(s.b, "15:04:05.000000000 ")
	s.b = append(s.b, s.port+" "+p.Dir.String()+" "...)
	s.b = append(s.b, frameText(&s.p, &s.k, p.Data, p.Len)...)
	if p.Drop != packet.DropNone {
		s.b = append(s.b, " "+dropComments[p.Drop]...)
	}
	s.b = append(s.b, '\n')
	if len(s.b) > 64<<10 {
		return s.flush()
	}
	return nil
}

// frameText is a frame as a flow, and its length.
func frameText(p *packet.Packet, k *flow.Key, data []byte, n uint32) string {
	*k = flow.Key{}
	p.SetBytes(data)
	p.InPort = 0
	flow.Extract(p, k)
	return strings.TrimPrefix(flow.Format(k), "in_port=0,") + " length " + strconv.FormatUint(uint64(n), 10)
}

func (s *textSink) flush() error {
	if len(s.b) == 0 {
		return nil
	}
	_, err := s.w.Write(s.b)
	s.b = s.b[:0]
	return err
}

func (s *textSink) close(pcapng.Stats) error { return s.flush() }

// output is the pipe.
type output struct{ w io.Writer }

func (o *output) alive() error { return readerLeft(o.w) }
