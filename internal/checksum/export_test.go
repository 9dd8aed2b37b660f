package checksum

// Implementation is one of the kernels, for tests that compare all of them.
type Implementation struct {
	Name string
	Sum  func(b []byte, acc uint64) uint64
}

// Implementations are all the kernels that run on this machine.
var Implementations = []Implementation{{"generic", sumGeneric}, {"chosen", kernel}}

// Fold finishes a kernel's sum.
var Fold = fold
