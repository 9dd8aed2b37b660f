//go:build !amd64 || race || purego

package mem

import "unsafe"

func copyMany(jobs *Copy, n int) { copyManyGeneric(unsafe.Slice(jobs, n)) }
