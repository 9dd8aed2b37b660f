package ofp

// Reserved port numbers, as 32-bit numbers of OpenFlow 1.1 and later cut to 16 bits as Open vSwitch
// shows them (OpenFlow 1.0, enum ofp_port).
const (
	PortMax        uint32 = 0xff00 // the first that is not a port
	PortInPort     uint32 = 0xfff8 // IN_PORT
	PortTable      uint32 = 0xfff9 // TABLE
	PortNormal     uint32 = 0xfffa // NORMAL
	PortFlood      uint32 = 0xfffb // FLOOD
	PortAll        uint32 = 0xfffc // ALL
	PortController uint32 = 0xfffd // CONTROLLER
	PortLocal      uint32 = 0xfffe // LOCAL, the bridge's own port
	PortNone       uint32 = 0xffff // no port; in filters: any
)

// Numbers that mean that nothing is meant.
const (
	GroupAny  uint32 = 0xffffffff
	GroupMax  uint32 = 0xffffff00 // groups are less than this
	TableAll  uint8  = 0xff       // all tables, in filters; the table of this flow, in resubmit
	MaxTables        = 255        // tables 0 to 254
)

// Names knows the names of a bridge's ports and tables. A nil Names knows none.
type Names interface {
	// PortNumber is the number of the port with this name.
	PortNumber(name string) (uint32, bool)
	// PortName is the name of the port with this number, "" if there is none or numbers
	// are to be shown.
	PortName(n uint32) string
	// TableNumber is the number of the table with this name.
	TableNumber(name string) (uint8, bool)
	// TableName is the name of a table, "" if it has none.
	TableName(t uint8) string
}
