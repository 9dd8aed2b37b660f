package vhostuser

import "encoding/binary"

// The payloads, each with its way out (Append) and in (parse). Numbers are
// little-endian, which is the host's own order on every platform the
// switch is built for; the protocol asks for the latter.

var le = binary.LittleEndian

// AppendU64 appends a payload that is one number.
func AppendU64(b []byte, v uint64) []byte { return le.AppendUint64(b, v) }

// VringState is an index or number that belongs to a vring.
type VringState struct{ Index, Num uint32 }

const vringStateSize = 8

// Append appends the payload to b.
func (v VringState) Append(b []byte) []byte {
	return le.AppendUint32(le.AppendUint32(b, v.Index), v.Num)
}

func parseVringState(p []byte) VringState { return VringState{le.Uint32(p), le.Uint32(p[4:])} }

// VringAddr says where a vring is, in addresses of the front end's process.
type VringAddr struct {
	Index, Flags           uint32
	Desc, Used, Avail, Log uint64
}

const (
	vringAddrSize = 40
	vringLog      = 1 // of Flags: writes to the used ring are to be logged, at Log
)

// Append appends the payload to b.
func (v VringAddr) Append(b []byte) []byte {
	b = le.AppendUint32(le.AppendUint32(b, v.Index), v.Flags)
	for _, a := range []uint64{v.Desc, v.Used, v.Avail, v.Log} {
		b = le.AppendUint64(b, a)
	}
	return b
}

func parseVringAddr(p []byte) VringAddr {
	return VringAddr{le.Uint32(p), le.Uint32(p[4:]), le.Uint64(p[8:]), le.Uint64(p[16:]), le.Uint64(p[24:]), le.Uint64(p[32:])}
}

// Region is a piece of the guest's memory.
type Region struct {
	Guest  uint64 // guest-physical address
	Size   uint64 // bytes
	User   uint64 // address in the front end's process
	Offset uint64 // where it begins in the file
	FD     FD     // the file
}

const regionSize = 32

// Append appends the region to b, without its descriptor.
func (r Region) Append(b []byte) []byte {
	for _, v := range []uint64{r.Guest, r.Size, r.User, r.Offset} {
		b = le.AppendUint64(b, v)
	}
	return b
}

func parseRegion(p []byte) Region {
	return Region{Guest: le.Uint64(p), Size: le.Uint64(p[8:]), User: le.Uint64(p[16:]), Offset: le.Uint64(p[24:])}
}

const memTableHeader = 8

// AppendMemTable appends the payload of SET_MEM_TABLE.
func AppendMemTable(b []byte, regions []Region) []byte {
	b = le.AppendUint32(le.AppendUint32(b, uint32(len(regions))), 0)
	for _, r := range regions {
		b = r.Append(b)
	}
	return b
}

// parseMemTable reads the payload of SET_MEM_TABLE. It may be longer than its
// regions need: UML always sends room for two.
func parseMemTable(p []byte) ([]Region, error) {
	if len(p) < memTableHeader {
		return nil, protocolErrorf("payload of %d bytes, want at least %d", len(p), memTableHeader)
	}
	n := le.Uint32(p)
	if n == 0 || n > MaxFDs {
		return nil, protocolErrorf("%d memory regions, want 1 to %d (more need ADD_MEM_REG)", n, MaxFDs)
	}
	if need := memTableHeader + int(n)*regionSize; len(p) < need {
		return nil, protocolErrorf("payload of %d bytes for %d regions, want %d", len(p), n, need)
	}
	regions := make([]Region, n)
	for i := range regions {
		regions[i] = parseRegion(p[memTableHeader+i*regionSize:])
	}
	return regions, nil
}

const memRegSize = 8 + regionSize

// AppendMemReg appends the payload of ADD_MEM_REG and REM_MEM_REG.
func AppendMemReg(b []byte, r Region) []byte { return r.Append(le.AppendUint64(b, 0)) }

func parseMemReg(p []byte) Region { return parseRegion(p[8:]) }

// ConfigSpace is a window on the configuration space.
type ConfigSpace struct {
	Offset, Flags uint32
	Data          []byte
}

const configHeader = 12

// Append appends the payload to b.
func (c ConfigSpace) Append(b []byte) []byte {
	b = le.AppendUint32(b, c.Offset)
	b = le.AppendUint32(b, uint32(len(c.Data)))
	b = le.AppendUint32(b, c.Flags)
	return append(b, c.Data...)
}

func parseConfigSpace(p []byte) (ConfigSpace, bool) {
	if len(p) < configHeader {
		return ConfigSpace{}, false
	}
	c := ConfigSpace{Offset: le.Uint32(p), Flags: le.Uint32(p[8:]), Data: p[configHeader:]}
	size := le.Uint32(p[4:])
	ok := int(size) == len(c.Data) && c.Offset <= maxConfig && size <= maxConfig && c.Offset+size <= maxConfig && size > 0
	return c, ok
}
