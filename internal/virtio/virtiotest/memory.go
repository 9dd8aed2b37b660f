package virtiotest

import "fmt"

// Region is a piece of guest memory: guest addresses [Guest, Guest+len(B)).
type Region struct {
	Guest uint64
	B     []byte
}

// Memory is the guest's memory, as regions that do not overlap.
type Memory []Region

// One is a memory of one region, b at guest address base.
func One(base uint64, b []byte) Memory { return Memory{{base, b}} }

// At is the n bytes at guest address addr. It panics unless one region holds
// them: the driver under test never wanders off.
func (m Memory) At(addr uint64, n int) []byte {
	for _, r := range m {
		if o := addr - r.Guest; addr >= r.Guest && o <= uint64(len(r.B)) && uint64(n) <= uint64(len(r.B))-o {
			return r.B[o:][:n:n]
		}
	}
	panic(fmt.Sprintf("virtiotest: no memory at %#x+%d", addr, n))
}

// Span is the n bytes at addr as pieces, for a range that crosses from one
// region into another that is adjacent in guest addresses.
func (m Memory) Span(addr uint64, n int) [][]byte {
	var out [][]byte
	for n > 0 {
		var piece []byte
		for _, r := range m {
			if o := addr - r.Guest; addr >= r.Guest && o < uint64(len(r.B)) {
				piece = r.B[o:min(uint64(len(r.B)), o+uint64(n))]
				break
			}
		}
		if piece == nil {
			panic(fmt.Sprintf("virtiotest: no memory at %#x+%d", addr, n))
		}
		out = append(out, piece)
		addr += uint64(len(piece))
		n -= len(piece)
	}
	return out
}

// Write copies b to addr, over region borders.
func (m Memory) Write(addr uint64, b []byte) {
	for _, p := range m.Span(addr, len(b)) {
		b = b[copy(p, b):]
	}
}

// Read copies n bytes from addr, over region borders.
func (m Memory) Read(addr uint64, n int) []byte {
	out := make([]byte, 0, n)
	for _, p := range m.Span(addr, n) {
		out = append(out, p...)
	}
	return out
}
