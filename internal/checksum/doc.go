// Package checksum is the Internet checksum (RFC 1071): sums of memory in one
// piece or many, pseudo headers of TCP and UDP, and changing a checksum after
// an edit without summing again (RFC 1624).
//
// A "sum" here is the ones' complement sum of the 16-bit words in network order,
// as a number: what stands in a header field is its complement, ^sum. A partial
// checksum in the sense of the virtio net header is a sum, not complemented.
//
// The package refuses to know packets: where fields are and which of them are
// covered is its callers' affair. Everything here is a pure function.
package checksum
