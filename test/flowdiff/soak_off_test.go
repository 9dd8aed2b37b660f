//go:build !soak

package flowdiff

// soak tells whether many more random rules and packets are tried.
const soak = false
