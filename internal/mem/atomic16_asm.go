//go:build (amd64 || arm64) && !race

package mem

// Load16Acquire reads the 16-bit word at addr (2-aligned); later loads and
// stores of this thread happen after it. (virtio 1.2, section 2.7.13.3: the
// available index is read before the entries it covers.)
//
//go:noescape
func Load16Acquire(addr uintptr) uint16

// Store16Release writes the 16-bit word at addr (2-aligned); earlier loads and
// stores of this thread happen before it. (virtio 1.2, section 2.7.8.2.)
//
//go:noescape
func Store16Release(addr uintptr, v uint16)

// Store32Release is Store16Release for 32 bits (4-aligned).
//
//go:noescape
func Store32Release(addr uintptr, v uint32)

// Peek16 reads a word that the other side may be writing at this moment. It orders
// nothing: whoever reads more because of what it says calls Acquire first.
func Peek16(addr uintptr) uint16 { return Load16(addr) }

// Peek32 is Peek16 for 32 bits (4-aligned).
func Peek32(addr uintptr) uint32 { return Load32(addr) }

// Acquire makes what earlier Peeks read like an acquire each: later loads and stores of this
// thread happen after them. (virtio 1.2, section 2.8.13: the flags of a descriptor are
// read before the rest of it.)
//
//go:noescape
func Acquire()

// Fence orders all earlier loads and stores before all later ones, the one
// ordering that neither acquire nor release gives: publish an index, then
// read whether the other side wants to be told. (virtio 1.2, section 2.7.10.)
//
//go:noescape
func Fence()

// prefetch reads the cache lines of the addresses ahead of use.
//
//go:noescape
func prefetch(addrs *uintptr, n int)

// prefetchWrite does so for lines that will be written.
//
//go:noescape
func prefetchWrite(addrs *uintptr, n int)

// Prefetch asks for the cache lines at addrs; an address that cannot be read
// is harmless.
func Prefetch(addrs []uintptr) {
	if len(addrs) > 0 {
		prefetch(&addrs[0], len(addrs))
	}
}

// PrefetchWrite is Prefetch for lines about to be written.
func PrefetchWrite(addrs []uintptr) {
	if len(addrs) > 0 {
		prefetchWrite(&addrs[0], len(addrs))
	}
}

// PrefetchRange asks for the cache lines of [addr, addr+n), n > 0.
//
//go:noescape
func PrefetchRange(addr uintptr, n int)

// PrefetchWriteRange is PrefetchRange for lines about to be written.
//
//go:noescape
func PrefetchWriteRange(addr uintptr, n int)
