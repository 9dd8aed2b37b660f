//go:build race

package megaflow

const scale = 10
