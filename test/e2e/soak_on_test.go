//go:build soak

package e2e

// soak tells whether the full combinations and the long loops are run.
const soak = true
