package frontend

import (
	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/virtio/virtiotest"
)

// userBase is where guest address 0 is in the front end's process, as the back end
// is told: any number will do, since only it translates with it.
const userBase = 0x7f0000000000

// RAM is guest memory. Its regions are adjacent in guest addresses, each a memfd of
// its own.
type RAM struct {
	Mem     virtiotest.Memory
	Regions []vhostuser.Region // FD.Num is the memfd
}

// NewRAM makes guest memory at guest address base of regions with the given
// sizes (multiples of the page size).
func NewRAM(base uint64, sizes ...int) (*RAM, error) {
	m := &RAM{}
	for _, n := range sizes {
		fd, err := unix.MemfdCreate("guest", unix.MFD_CLOEXEC)
		if err != nil {
			m.Close()
			return nil, err
		}
		r := vhostuser.Region{Guest: base, Size: uint64(n), User: userBase + base, FD: vhostuser.FD{Num: fd}}
		m.Regions = append(m.Regions, r)
		if err := unix.Ftruncate(fd, int64(n)); err != nil {
			m.Close()
			return nil, err
		}
		b, err := unix.Mmap(fd, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			m.Close()
			return nil, err
		}
		m.Mem = append(m.Mem, virtiotest.Region{Guest: base, B: b})
		base += uint64(n)
	}
	return m, nil
}

// Close unmaps and closes all.
func (m *RAM) Close() {
	for _, r := range m.Mem {
		_ = unix.Munmap(r.B)
	}
	for _, r := range m.Regions {
		_ = unix.Close(r.FD.Num)
	}
	m.Mem, m.Regions = nil, nil
}

// FDs are the memfds.
func (m *RAM) FDs() []int {
	var out []int
	for _, r := range m.Regions {
		out = append(out, r.FD.Num)
	}
	return out
}

// Table sends the memory as SET_MEM_TABLE.
func (m *RAM) Table(c *Conn) error {
	return c.Set(vhostuser.SetMemTable, vhostuser.AppendMemTable(nil, m.Regions), m.FDs()...)
}

// Add sends the memory as ADD_MEM_REG, region by region.
func (m *RAM) Add(c *Conn) error {
	for _, r := range m.Regions {
		if err := c.Set(vhostuser.AddMemReg, vhostuser.AppendMemReg(nil, r), r.FD.Num); err != nil {
			return err
		}
	}
	return nil
}
