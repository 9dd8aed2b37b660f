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
		if t.cold && s.count > 64 {
			t.fetch(s, n)
		}
		left := t.resolveKeys(s, keys, out, n)
		t.hits[id].Add(uint64(n - left))
		if n = left; n == 0 {
			break
		}
	}
	t.stat.probes.Add(uint64(probes))
	return n
}

// hashKeys fills in hash[j] for the key pending[j].
func (t *Table) hashKeys(s *subtable, keys []flow.Key, n int) {
	d := t.descs + uintptr(s.id)*lineBytes
	o := load64(d)
	a, b := uintptr(o&255), uintptr(o>>8&255)
	e, f := uintptr(o>>16&255), uintptr(o>>24&255)
	ma, mb, me, mf := load64(d+8), load64(d+16), load64(d+24), load64(d+32)
	c := &t.mix
	if s.n <= 4 {
		for j, i := range t.pending[:n] {
			k := &keys[i]
			t.hash[j] = fold(word(k, a)&ma^c[0], word(k, b)&mb^c[1]) ^ fold(word(k, e)&me^c[2], word(k, f)&mf^c[3])
		}
		return
	}
	g, h, l := uintptr(o>>32&255), uintptr(o>>40&255), uintptr(o>>48&255)
	mg, mh, ml := load64(d+40), load64(d+48), load64(d+56)
	for j, i := range t.pending[:n] {
		k := &keys[i]
		t.hash[j] = fold(word(k, a)&ma^c[0], word(k, b)&mb^c[1]) ^ fold(word(k, e)&me^c[2], word(k, f)&mf^c[3]) ^
			fold(word(k, g)&mg^c[4], word(k, h)&mh^c[5]) ^ fold(word(k, l)&ml^c[6], c[7])
	}
	if s.n > inLine {
		for j, i := range t.pending[:n] {
			x := t.hash[j]
			for _, w := range s.words[inLine:s.n] {
				x = fold(x^keys[i][w]&s.mask[w], c[7])
			}
			t.hash[j] = x
		}
	}
}

// fetch asks for the cache lines that resolveKeys reads: buckets, then megaflows.
func (t *Table) fetch(s *subtable, n int) {
	for j := range n {
		t.addrs[j] = s.bucket(t.hash[j])
	}
	mem.Prefetch(t.addrs[:n])
	m := n
	for j, b := range t.addrs[:n] {
		if x := match(b, tagOf(t.hash[j])); x != 0 {
			e := t.addr(Ref(load32(refAt(b, x))))
			t.addrs[m] = e
			m++
			if s.class > 1 {
				t.addrs[m] = e + uintptr(s.class-1)*lineBytes
				m++
			}
		}
	}
	mem.Prefetch(t.addrs[n:m])
}

// resolveKeys looks for the keys that hashKeys hashed, and keeps in pending what it does not find.
func (t *Table) resolveKeys(s *subtable, keys []flow.Key, out []Ref, n int) int {
	left := 0
	for j, i := range t.pending[:n] {
		h := t.hash[j]
		b := s.bucket(h)
		m := match(b, tagOf(h))
		if m == 0 && load32(b+bucketNext) == 0 {
			t.pending[left] = i
			left++
			continue
		}
		if r := t.resolve(s, h, &keys[i]); r != 0 {
			out[i] = r
			continue
		}
		t.pending[left] = i
		left++
	}
	return left
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
	o := load64(d)
	x := (word(k, uintptr(o&255)) ^ load64(e+8)) & load64(d+8)
	x |= (word(k, uintptr(o>>8&255)) ^ load64(e+16)) & load64(d+16)
	x |= (word(k, uintptr(o>>16&255)) ^ load64(e+24)) & load64(d+24)
	x |= (word(k, uintptr(o>>24&255)) ^ load64(e+32)) & load64(d+32)
	x |= (word(k, uintptr(o>>32&255)) ^ load64(e+40)) & load64(d+40)
	x |= (word(k, uintptr(o>>40&255)) ^ load64(e+48)) & load64(d+48)
	x |= (word(k, uintptr(o>>48&255)) ^ load64(e+56)) & load64(d+56)
	if x != 0 {
		return false
	}
	return o>>56 <= inLine || t.agreesWide(e, k)
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
