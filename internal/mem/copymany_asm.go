//go:build amd64 && !race && !purego

package mem

//go:noescape
func copyMany(jobs *Copy, n int)
