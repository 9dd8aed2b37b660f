package flow

// set replaces the bits bits of word w that begin at shift.
func (k *Key) set(w, shift, bits uint, v uint64) {
	m := uint64(1)<<bits - 1
	k[w] = k[w]&^(m<<shift) | v&m<<shift
}

// SetInPort changes the datapath port.
func (k *Key) SetInPort(v uint32) { k.set(WordPort, 32, 32, uint64(v)) }

// SetEthType changes the EtherType behind the tags.
func (k *Key) SetEthType(t uint16) { k.set(WordSrc, 0, 16, uint64(t)) }

// SetVLAN changes the outer tag; TPID 0 takes it away.
func (k *Key) SetVLAN(tpid, tci uint16) { k.set(WordVLAN, 32, 32, uint64(tpid)<<16|uint64(tci)) }

// SetInnerVLAN changes the second tag; TPID 0 takes it away.
func (k *Key) SetInnerVLAN(tpid, tci uint16) { k.set(WordVLAN, 0, 32, uint64(tpid)<<16|uint64(tci)) }

// SetIPProto changes the L4 protocol.
func (k *Key) SetIPProto(v uint8) { k.set(WordIP, 56, 8, uint64(v)) }

// SetTTL changes the time to live.
func (k *Key) SetTTL(v uint8) { k.set(WordIP, 40, 8, uint64(v)) }

// SetMPLS changes label stack entry i, 0 to 2.
func (k *Key) SetMPLS(i int, lse uint32) {
	switch i {
	case 0:
		k.set(WordMPLS, 32, 32, uint64(lse))
	case 1:
		k.set(WordMPLS, 0, 32, uint64(lse))
	case 2:
		k.set(WordMPLS2, 32, 32, uint64(lse))
	}
}
