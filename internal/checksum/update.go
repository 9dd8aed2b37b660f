package checksum

// Update16 is checksum field check after a covered 16-bit word at an even offset
// changed from old to new (RFC 1624, equation 3). It never turns a
// right checksum into a wrong one nor a wrong one into a right one.
func Update16(check, old, new uint16) uint16 {
	return ^add16(add16(^check, ^old), new)
}

// Update32 is Update16 for a 32-bit word at an even offset.
func Update32(check uint16, old, new uint32) uint16 {
	check = Update16(check, uint16(old>>16), uint16(new>>16))
	return Update16(check, uint16(old), uint16(new))
}

// UpdateSum16 is Update16 for a field that holds a sum, as a partial checksum does.
func UpdateSum16(sum, old, new uint16) uint16 {
	return add16(add16(sum, ^old), new)
}

// UpdateSum32 is Update32 for a field that holds a sum.
func UpdateSum32(sum uint16, old, new uint32) uint16 {
	sum = UpdateSum16(sum, uint16(old>>16), uint16(new>>16))
	return UpdateSum16(sum, uint16(old), uint16(new))
}
