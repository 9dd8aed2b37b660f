package flowtest

// Case is one test.
type Case struct {
	File    string
	Line    int
	Name    string
	From    string // the document that it was written from
	NotOVS  string // why Open vSwitch is not to be asked; empty: it is
	Bridges []Bridge
	Steps   []Step
}

// Bridge is a bridge of a case, with its ports.
type Bridge struct {
	Name    string
	Options map[string]string
	Ports   []Port
}

// Port is a port of a bridge. A patch has the option peer.
type Port struct {
	Number  int
	Options map[string]string
}

// Kind is what a step does.
type Kind uint8

// The kinds.
const (
	KindCommand Kind = iota
	KindSend
	KindFlows
	KindCount
	KindMACs
	KindFlush
	KindWait
)

// Step is one thing that is done or asked, in order.
type Step struct {
	Line   int // of the statement
	Kind   Kind
	Bridge string

	Command Command // KindCommand
	Refused bool    // it must fail
	Because string  // with this in its error

	Port   PortRef  // KindSend
	Frames []Frame  // the burst
	Expect []Expect // what comes of it
	First  int      // the lines that say so, First to Last; Last < First: none
	Last   int

	Filter         string   // KindFlows, KindCount
	Lines          []string // KindFlows, KindMACs: what is expected
	Packets, Bytes int      // KindCount; -1: anything
	Seconds        int      // KindWait
}

// Command is an ovs-ofctl command on a step's bridge.
type Command struct {
	Name   string // add-flow, mod-flows, ...; link
	Strict bool
	Text   string
}

// PortRef is a port of a bridge by its OpenFlow number.
type PortRef struct {
	Bridge string
	Number int
}

// Frame is a frame as it was written, and its bytes.
type Frame struct {
	Text  string
	Bytes []byte
}

// ExpectKind is what is expected.
type ExpectKind uint8

// The kinds. Looks, Ignores, Megaflow and Actions are asked only of a switch that can Explain.
const (
	ExpectFrame ExpectKind = iota
	ExpectDrop
	ExpectLooks
	ExpectIgnores
	ExpectMegaflow
	ExpectActions
)

// Expect is an expectation of a step.
type Expect struct {
	Line  int
	Kind  ExpectKind
	Ports []PortRef // ExpectFrame: one of them
	Bytes []byte
	Text  string // as it was written
}
