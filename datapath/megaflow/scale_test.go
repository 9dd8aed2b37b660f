//go:build !race

package megaflow

// scale is by how much the long tests are shorter under the race detector.
const scale = 1
