package checksum

// UpdateSum16 is a field that holds a sum, as a partial checksum does, after a covered
// 16-bit word at an even offset changed from old to new (RFC 1624, equation 3). It
// never turns a right sum into a wrong one nor a wrong one into a right one.
func UpdateSum16(sum, old, new uint16) uint16 {
	return add16(add16(sum, ^old), new)
}
