// Package invariants holds assertions about the switch's own state that cost
// nothing in a normal build. They are on with the build tag "invariants" and in
// builds for the race detector:
//
//	go test -tags invariants ./...
//
// An assertion is for what only a fault in the switch can break. What a peer, a
// guest or an operator can cause is an error or a counted drop, never an
// assertion.
//
// It knows nothing of what is asserted; its functions may be called from anywhere.
package invariants
