package megaflow

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/mem"
)

// search asks the subtables for keys[i], i in pending, and leaves in pending those that no
// megaflow was found for; it returns how many.
func (t *Table) search(keys []flow.Key, out []Ref, n int) int {
	probes := 0
	for _, id := range t.order {
		s := &t.subs[id]
		probes += n
		t.hashKeys(s, keys, n)
		left := t.resolveKeys(s, keys, out, n, t.cold && s.count > 64)
		t.hits[id].Add(uint64(n - left))
		if n = left; n == 0 {
			break
		}
	}
	t.stat.probes.Add(uint64(probes))
	return n
}

// hashKeys fills in hash[j] for the key pending[j]. It is hashWords without copying. (Offsets and
// masks are read again for each key: they are in one line, and there are not
// registers enough to keep them.)
func (t *Table) hashKeys(s *subtable, keys []flow.Key, n int) {
	d := t.descs + uintptr(s.id)*lineBytes
	c := &t.mix
	if s.n <= 4 {
		for j, i := range t.pending[:n] {
			k := &keys[i]
			t.hash[j] = fold(masked(k, d, 0)^c[0], masked(k, d, 1)^c[1]) ^ fold(masked(k, d, 2)^c[2], masked(k, d, 3)^c[3])
		}
		return
	}
	for j, i := range t.pending[:n] {
		k := &keys[i]
		h := fold(masked(k, d, 0)^c[0], masked(k, d, 1)^c[1])
		h ^= fold(masked(k, d, 2)^c[2], masked(k, d, 3)^c[3])
		h ^= fold(masked(k, d, 4)^c[4], masked(k, d, 5)^c[5])
		t.hash[j] = h ^ fold(masked(k, d, 6)^c[6], c[7])
	}
	if s.n > inLine {
		for j, i := range t.pending[:n] {
			h := t.hash[j]
			for _, w := range s.words[inLine:s.n] {
				h = fold(h^keys[i][w]&s.mask[w], c[7])
			}
			t.hash[j] = h
		}
	}
}

// masked is the key's word that is number i of the mask with descriptor d.
func masked(k *flow.Key, d uintptr, i uintptr) uint64 {
	return word(k, uintptr(load8(d+i))) & load64(d+8+8*i)
}

// resolveKeys looks for the keys that hashKeys hashed, and keeps in pending what it does not find. Whether
// a bucket has the tag is as good as random, so no branch depends on it.
func (t *Table) resolveKeys(s *subtable, keys []flow.Key, out []Ref, n int, far bool) int {
	if far {
		for j, h := range t.hash[:n] {
			t.addrs[j] = s.bucket(h)
		}
		mem.Prefetch(t.addrs[:n])
	}
	left, found := 0, 0
	for j, i := range t.pending[:n] {
		h := t.hash[j]
		b := s.bucket(h)
		m := match(b, tagOf(h))
		c := &t.found[found&(Batch-1)]
		c.key, c.hash, c.ref = i, h, Ref(load32(refAt(b, m)))
		hit := 0
		if m|uint64(load32(b+bucketNext)) != 0 {
			hit = 1
		}
		if m == 0 {
			c.ref = 0
		}
		found += hit
		t.pending[left&(Batch-1)] = i
		left += 1 - hit
	}
	if far {
		t.fetch(found)
	}
	for j := range t.found[:found] {
		c := &t.found[j]
		k := &keys[c.key]
		r := c.ref
		if !t.agrees(t.addr(r), k) {
			r = t.resolve(s, c.hash, k)
		}
		if out[c.key] = r; r == 0 {
			t.pending[left&(Batch-1)] = c.key
			left++
		}
	}
	return left
}

// candidate is a key and what it may belong to.
type candidate struct {
	hash uint64
	ref  Ref
	key  uint8
}

// fetch asks for the lines of the first n megaflows found: the first, and that with the statistics.
func (t *Table) fetch(n int) {
	for j := range t.found[:n] {
		r := t.found[j].ref
		e := t.addr(r)
		t.addrs[2*j] = e
		t.addrs[2*j+1] = e + uintptr(t.class[r>>chunkBits&(maxChunks-1)]-1)*lineBytes
	}
	mem.Prefetch(t.addrs[:2*n])
}

// resolve is the megaflow of s that k with hash h belongs to, 0 if there is none.
func (t *Table) resolve(s *subtable, h uint64, k *flow.Key) Ref {
	tag := tagOf(h)
	for b := s.bucket(h); ; {
		for m := match(b, tag); m != 0; m &= m - 1 {
			r := Ref(load32(refAt(b, m)))
			if t.agrees(t.addr(r), k) {
				return r
			}
		}
		next := Ref(load32(b + bucketNext))
		if next == 0 {
			return 0
		}
		b = t.addr(next)
	}
}

// agrees tells whether k belongs to the megaflow at e, whatever its subtable, or to
// what once was a megaflow: to that, nothing does.
func (t *Table) agrees(e uintptr, k *flow.Key) bool {
	d := t.descs + uintptr(subOf(load64(e)))*lineBytes
	x := (word(k, uintptr(load8(d))) ^ load64(e+8)) & load64(d+8)
	x |= (word(k, uintptr(load8(d+1))) ^ load64(e+16)) & load64(d+16)
	x |= (word(k, uintptr(load8(d+2))) ^ load64(e+24)) & load64(d+24)
	x |= (word(k, uintptr(load8(d+3))) ^ load64(e+32)) & load64(d+32)
	x |= (word(k, uintptr(load8(d+4))) ^ load64(e+40)) & load64(d+40)
	x |= (word(k, uintptr(load8(d+5))) ^ load64(e+48)) & load64(d+48)
	x |= (word(k, uintptr(load8(d+6))) ^ load64(e+56)) & load64(d+56)
	if x != 0 {
		return false
	}
	return load8(d+7) <= inLine || t.agreesWide(e, k)
}

// agreesWide compares the words behind the first line.
//
//go:noinline
func (t *Table) agreesWide(e uintptr, k *flow.Key) bool {
	s := &t.subs[subOf(load64(e))]
	for i := inLine; i < s.n; i++ {
		w := s.words[i]
		if (k[w]^load64(e+8+uintptr(i)*8))&s.mask[w] != 0 {
			return false
		}
	}
	return true
}
