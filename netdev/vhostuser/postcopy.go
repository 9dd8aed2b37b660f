package vhostuser

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/pager"
	"github.com/gvswitch/gvswitch/internal/vhostuser"
)

// While pages of a guest are on the machine that it left, its rings are served like those of a guest
// with an IOMMU: what is there is translated, and what is not is asked for, of a pager in place of the
// front end. So nobody here ever touches a page that is missing. p.mu is held in all of this.
type postcopy struct {
	pager  *pager.Pager
	lazy   bool // memory may be incomplete
	places []lazyRegion
	mapped int             // by the pager, which keeps all until the end
	asked  map[uint64]want // of the pager, by number
	last   uint64
}

// maxPlaces bounds what the pager maps for one guest: its memory a few times over.
const maxPlaces = 4 * vhostuser.MaxMemSlots

// lazyRegion is where a region is for the pager.
type lazyRegion struct {
	region vhostuser.Region
	at     uint64
}

// PostcopyAdvise implements vhostuser.Device.
func (p *peer) PostcopyAdvise() (int, error) {
	if p.postcopy == nil {
		if !p.d.starts.take(p.d.pause) { // it costs a process
			return -1, errors.New("the port is being closed")
		}
		io := newIOMMU()
		pg, err := pager.Start(io.poke)
		if err != nil {
			return -1, err
		}
		p.postcopy, p.iommu = &postcopy{pager: pg, asked: map[uint64]want{}}, io
		p.d.wg.Go(func() { p.translate(io) })
	}
	return p.postcopy.pager.Userfault()
}

// PostcopyListen implements vhostuser.Device.
func (p *peer) PostcopyListen() {
	p.postcopy.lazy = true
	p.d.info("guest arrives by postcopy")
}

// PostcopyMap implements vhostuser.Device.
func (p *peer) PostcopyMap(regions []vhostuser.Region) ([]uint64, error) {
	var at []uint64
	if c := p.postcopy; c.mapped+len(regions) > maxPlaces {
		return nil, fmt.Errorf("more than %d memory regions in one postcopy", maxPlaces)
	}
	p.postcopy.mapped += len(regions)
	for i := range regions {
		r := &regions[i]
		start, size := r.Pages()
		a, err := p.postcopy.pager.Map(r.FD.Num, start, size)
		if err != nil {
			return nil, fmt.Errorf("region %#x: %w", r.Guest, err)
		}
		a += r.Offset - start
		at = append(at, a)
		p.postcopy.places = append(p.postcopy.places, lazyRegion{*r, a})
	}
	return at, nil
}

// forget takes regions out that the front end has taken away: others may come in their place.
func (c *postcopy) forget(regions []vhostuser.Region) {
	c.places = slices.DeleteFunc(c.places, func(l lazyRegion) bool { return slices.Contains(regions, l.region) })
}

// PostcopyReady implements vhostuser.Device.
func (p *peer) PostcopyReady() error { return p.postcopy.pager.Register() }

// PostcopyEnd implements vhostuser.Device.
func (p *peer) PostcopyEnd() {
	if p.postcopy == nil {
		return
	}
	if p.postcopy.lazy {
		p.d.info("guest has arrived", "pages_fetched", p.iommu.counts.asked.Load())
	}
	p.postcopy.pager.Close()
	io := p.iommu
	p.postcopy, p.iommu = nil, nil
	io.poke() // translate ends
}

// fetch asks the pager for a page.
func (p *peer) fetch(w want) {
	c := p.postcopy
	a := &p.iommu.asking
	if len(c.asked) >= pager.MaxTouches {
		return
	}
	for _, x := range c.asked {
		if x == w {
			return
		}
	}
	for i := range c.places {
		r := &c.places[i].region
		off := w.page() - r.Guest
		if r.Guest > w.page() && r.Guest-w.page() <= ^pageMask {
			off = 0 // the region begins within the page
		}
		if off >= r.Size {
			continue
		}
		c.last++
		if err := c.pager.Touch(c.last, c.places[i].at+off); err != nil {
			if !a.warned {
				a.warned = true
				p.d.warn("pages of a guest that arrives cannot be fetched", err)
			}
			return
		}
		c.asked[c.last] = w
		p.iommu.counts.asked.Add(1)
		return
	}
	p.iommu.refuse(w) // there is no such memory
}

// fetched takes pages that have come.
func (p *peer) fetched() (err error) {
	c, io := p.postcopy, p.iommu
	defer p.recoverFault(&err)
	come := c.pager.Done()
	for _, id := range come {
		w := c.asked[id]
		delete(c.asked, id)
		for i := range c.places {
			r := &c.places[i].region
			first, last := max(w.page(), r.Guest), min(w.page()|^pageMask, r.Guest+r.Size-1)
			if first > last {
				continue
			}
			if host, ok := p.memory.Guest().Translate(first, last-first+1); ok {
				io.tlb.Update(first, last-first+1, host, vhostuser.PermRead|vhostuser.PermWrite)
				io.changed()
			}
		}
	}
	if len(come) > 0 {
		p.revive()
	}
	return nil
}

// guestParts changes the addresses of a ring's parts from the front end's to the guest's.
func (p *peer) guestParts(parts *ioParts) error {
	for i := range parts {
		part := &parts[i]
		found := false
		for _, c := range p.postcopy.places {
			if off := part.addr - c.region.User; off < c.region.Size && part.size <= c.region.Size-off {
				part.addr, found = c.region.Guest+off, true
				break
			}
		}
		if !found {
			return fmt.Errorf("%s of %d bytes at %#x is not in one memory region", part.name, part.size, part.addr)
		}
	}
	return nil
}

// canPostcopy says why this machine cannot, nil if it can.
func canPostcopy() error {
	err := pager.Available()
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("this machine's kernel does not let the switch use it: %w", err)
	}
	return err
}
