package packet

const (
	// MaxBurst is the most packets that one receive call gives.
	MaxBurst = 32
	// Clones is how many more packets a burst has room for: one head for each
	// tag shape of a flood, each output that is followed by an edit.
	Clones = 96
)

// Burst is the packets of one trip through the datapath, received and cloned,
// named by index. It is large: a poll thread makes one and uses it for ever. It
// holds no pointers, so filling it costs no write barriers and scanning it
// costs the collector nothing.
type Burst struct {
	Pkts [MaxBurst + Clones]Packet
	n    int // packets in use: first those received, then clones
}

// Start empties the burst and says that its first n packets are those received.
func (b *Burst) Start(n int) { b.n = n }

// Clone makes a copy of packet i (see CloneFrom) and gives its index; false when
// the arena is full, and then the caller flushes what it has, calls Reclaim,
// and tries again.
func (b *Burst) Clone(i int) (int, bool) {
	if b.n >= len(b.Pkts) {
		return 0, false
	}
	j := b.n
	b.n++
	b.Pkts[j].CloneFrom(&b.Pkts[i])
	return j, true
}

// Free is how many clones there is room for.
func (b *Burst) Free() int { return len(b.Pkts) - b.n }

// Reclaim frees all packets but the first n: nobody uses the clones any more.
func (b *Burst) Reclaim(n int) { b.n = n }
