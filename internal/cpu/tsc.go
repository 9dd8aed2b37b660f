//go:build amd64 || arm64

package cpu

// Cycles reads the processor's constant-rate counter (amd64: TSC, arm64:
// CNTVCT). Only differences mean anything; HZ converts them.
func Cycles() uint64
