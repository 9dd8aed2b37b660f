package ovsdb

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
)

// UUID identifies a row or a row's version (RFC 4122).
type UUID [16]byte

// NewUUID returns a random (version 4) UUID.
func NewUUID() UUID {
	var u UUID
	_, _ = rand.Read(u[:]) // never fails, see crypto/rand
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	return u
}

// ParseUUID reads the 36-character form, in either case.
func ParseUUID(s string) (UUID, error) {
	var u UUID
	bad := func() (UUID, error) { return UUID{}, fmt.Errorf("%q is not a valid UUID", s) }
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return bad()
	}
	digits := s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	if _, err := hex.Decode(u[:], []byte(digits)); err != nil {
		return bad()
	}
	return u, nil
}

// String gives the 36-character form in lower case.
func (u UUID) String() string {
	var b [36]byte
	hex.Encode(b[:8], u[:4])
	hex.Encode(b[9:13], u[4:6])
	hex.Encode(b[14:18], u[6:8])
	hex.Encode(b[19:23], u[8:10])
	hex.Encode(b[24:], u[10:])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

// IsZero reports whether u is all zeros, the default of a uuid column.
func (u UUID) IsZero() bool { return u == UUID{} }

// Compare orders UUIDs as their text forms are ordered.
func (u UUID) Compare(v UUID) int { return bytes.Compare(u[:], v[:]) }
