package hdr

// IP protocol numbers (IANA), IPv6 extension headers included.
const (
	ProtoHopByHop = 0
	ProtoICMP     = 1
	ProtoIGMP     = 2
	ProtoIPIP     = 4
	ProtoTCP      = 6
	ProtoUDP      = 17
	ProtoDCCP     = 33
	ProtoIPv6     = 41
	ProtoRouting  = 43
	ProtoFragment = 44
	ProtoGRE      = 47
	ProtoESP      = 50
	ProtoAH       = 51
	ProtoICMPv6   = 58
	ProtoNone     = 59 // no next header
	ProtoDestOpts = 60
	ProtoSCTP     = 132
	ProtoUDPLite  = 136
)
