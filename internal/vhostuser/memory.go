package vhostuser

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/mem"
)

// Memory is the guest's memory as it is mapped here. Its two tables, by guest-physical
// address (for descriptors) and by address in the front end's process (for
// rings), are made anew by each change and never changed, so that others may
// hold on to them until they have to let go. It owns the mappings, not the
// descriptors. The zero Memory is empty.
type Memory struct {
	mapped      []mapping
	guest, user *mem.Map
}

type mapping struct {
	region Region
	bytes  []byte  // whole pages around the region
	host   uintptr // where the region begins
}

// Guest translates guest-physical addresses.
func (m *Memory) Guest() *mem.Map { return m.table(&m.guest) }

// User translates addresses in the front end's process.
func (m *Memory) User() *mem.Map { return m.table(&m.user) }

func (m *Memory) table(t **mem.Map) *mem.Map {
	if *t == nil {
		*t, _ = mem.NewMap(nil)
	}
	return *t
}

// Map adds regions, all or none.
func (m *Memory) Map(regions []Region) error {
	added := make([]mapping, 0, len(regions))
	for i := range regions {
		p, err := mapRegion(&regions[i])
		if err == nil {
			added = append(added, p)
			continue
		}
		for _, p := range added {
			_ = unix.Munmap(p.bytes)
		}
		return err
	}
	old := m.mapped
	m.mapped = append(slices.Clip(m.mapped), added...)
	if err := m.rebuild(); err != nil {
		m.mapped = old
		for _, p := range added {
			_ = unix.Munmap(p.bytes)
		}
		return err
	}
	return nil
}

// Unmap takes regions away. Nobody may use a table that has them any more.
func (m *Memory) Unmap(regions []Region) {
	m.mapped = slices.DeleteFunc(slices.Clone(m.mapped), func(p mapping) bool {
		if !slices.Contains(regions, p.region) {
			return false
		}
		_ = unix.Munmap(p.bytes)
		return true
	})
	_ = m.rebuild() // of regions that did not overlap before
}

func (m *Memory) rebuild() error {
	guest := make([]mem.Region, len(m.mapped))
	user := make([]mem.Region, len(m.mapped))
	for i, p := range m.mapped {
		guest[i] = mem.Region{Guest: p.region.Guest, Size: p.region.Size, Host: p.host}
		user[i] = mem.Region{Guest: p.region.User, Size: p.region.Size, Host: p.host}
	}
	g, err := mem.NewMap(guest)
	if err != nil {
		return err
	}
	u, err := mem.NewMap(user)
	if err != nil {
		return err
	}
	m.guest, m.user = g, u
	return nil
}

// Pages is the part of the file, in whole pages, that has the region.
func (r *Region) Pages() (start, size uint64) {
	page := max(r.FD.Page, uint64(unix.Getpagesize()))
	start = r.Offset &^ (page - 1)
	return start, (r.Offset - start + r.Size + page - 1) &^ (page - 1)
}

// mapRegion maps the pages around a region. Offset and size need not be multiples of the
// page size, which with hugetlbfs may be a gigabyte (a guest's memory
// below 4 GiB is often cut at 640 KiB).
func mapRegion(r *Region) (mapping, error) {
	start, size := r.Pages()
	if size > 1<<46 {
		return mapping{}, fmt.Errorf("region %#x: %#x bytes are more than fits an address space", r.Guest, r.Size)
	}
	// Without NORESERVE huge pages would be reserved here that the front end
	// has reserved already.
	b, err := unix.Mmap(r.FD.Num, int64(start), int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		return mapping{}, fmt.Errorf("region %#x: mmap of %#x bytes: %w", r.Guest, size, err)
	}
	_ = unix.Madvise(b, unix.MADV_DONTDUMP) // a guest's secrets do not belong into our core files
	return mapping{*r, b, mem.AddrOf(b) + uintptr(r.Offset-start)}, nil
}
