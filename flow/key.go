package flow

const (
	// Words is the length of a Key in 64-bit words.
	Words = 44
	// PacketWords is how many words of it packets come with: behind them is what a pipeline
	// adds while it decides.
	PacketWords = 32
	// BaseWords is how many words of it Extract fills: what the packet itself says
	// and where it came from. What is between them and PacketWords is zero until
	// a tunnel or connection tracking has seen the packet.
	BaseWords = 16
)

// Indices of a Key's words. In each, the first field named stands in the high
// bits.
const (
	WordPort  = iota // in_port 32, recirc_id 32
	WordDst          // eth_dst 48, zero 16
	WordSrc          // eth_src 48, eth_type 16
	WordVLAN         // outer TPID 16, TCI 16; inner TPID 16, TCI 16
	WordIP           // ip_proto 8, tos 8, ttl 8, frag 8; IPv6 label 32
	WordIPSrc        // IPv4, ARP: source 32, destination 32; IPv6: source, first half
	WordIPSrcLo
	WordIPDst // IPv6: destination
	WordIPDstLo
	WordTP     // source port 16, destination port 16 (ICMP: type, code); TCP flags 16, zero 16
	WordSHA    // ARP sender's, or ND source link-layer address 48; zero 16
	WordTHA    // ARP target's, or ND target link-layer address 48; zero 16
	WordTarget // ND target address; IGMP group 32, zero 32
	WordTargetLo
	WordMPLS  // label stack entries: first 32, second 32
	WordMPLS2 // third 32; ND flags and reserved 32

	WordCT        // ct_state 32, ct_zone 16, original protocol 8, zero 8
	WordMark      // ct_mark 32, pkt_mark 32
	WordCTLabel   // ct_label
	WordCTLabelLo //
	WordCTSrc     // original tuple: as WordIPSrc and following
	WordCTSrcLo   //
	WordCTDst     //
	WordCTDstLo   //
	WordCTTP      // original source port 16, destination port 16; dp_hash 32
	_             //
	WordTunID     // tunnel key
	WordTunSrc    // tunnel: as WordIPSrc and following
	WordTunSrcLo  //
	WordTunDst    //
	WordTunDstLo  //
	WordTun       // tunnel flags 16 (the first bit is TunIPv6), source port 16, destination port 16, tos 8, ttl 8

	WordReg   // reg0 32, reg1 32; six more words to reg14, reg15. A word is an xreg, two an xxreg
	_         //
	_         //
	_         //
	_         //
	_         //
	_         //
	_         //
	WordMeta  // metadata
	WordPipe  // conj_id 32, actset_output 32
	WordQueue // skb_priority 32, zero 32
	_         //
)

// Key is all that decides what happens to a packet: 44 words, comparable with ==
// and hashed as they are. The Word constants say what is where; fields that the
// packet does not have are zero. The zero value is the key of an empty frame.
//
//	        0          1     2     3      4    5           9     10        12       14
//	base  | port     | dst | src | vlan | ip | addresses | tp  | arp, nd | target | mpls |
//	rest  | conntrack and marks                        | tunnel                         |
//	pipe  | registers                  | metadata | conj_id | queue                       |
//
// The base is two cache lines. Fields as in OpenFlow and OVS, with one
// difference: a tag is present when its TPID is not 0, so the DEI bit is its own.
type Key [Words]uint64

// Frag bits of a key.
const (
	FragAny   = 1 // a fragment
	FragLater = 2 // not the first one: there is no L4 header
)

// Base is the part that Extract fills.
func (k *Key) Base() *[BaseWords]uint64 { return (*[BaseWords]uint64)(k[:BaseWords]) }
