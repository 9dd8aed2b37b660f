// Package e2e tests the two programs, gvswitchd and gvsctl, as an operator has
// them: built, started, configured by command, with real guests and peers
// attached, killed, and started again.
//
// Each test has a switch of its own (Switch) in a network namespace of its own.
// The package knows the programs' command lines and nothing of their insides.
// The tests run one after the other: they assert liveness with deadlines ten
// times what is promised, and the machine is theirs.
package e2e
