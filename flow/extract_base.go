package flow

import "github.com/gvswitch/gvswitch/packet"

// ExtractBase is Extract for a key whose words behind the base are known to be zero: it does not
// touch them.
func ExtractBase(p *packet.Packet, k *Key) Offsets { return Extract(p, k) }
