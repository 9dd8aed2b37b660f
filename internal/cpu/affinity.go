package cpu

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Pin binds the calling OS thread to one core. Lock the goroutine to its thread
// first.
func Pin(core int) error {
	var set unix.CPUSet
	set.Set(core)
	if !set.IsSet(core) {
		return fmt.Errorf("CPU %d: out of range", core)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("CPU %d: %w", core, err)
	}
	return nil
}

// Allowed lists the cores that this process may run on, in order.
func Allowed() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, err
	}
	var cores []int
	for i := range len(set) * 64 {
		if set.IsSet(i) {
			cores = append(cores, i)
		}
	}
	return cores, nil
}
