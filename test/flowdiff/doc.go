// Package flowdiff compares what our switch does with flows to what Open vSwitch does: the same rules, the
// same packets into dummy ports, and the same frames have to come out of the same ports.
//
// The corpus is the cases of datapath/flowtest, and rules and packets made at random from a grammar, with a
// seed that a failure names. Open vSwitch is a private instance with its userspace datapath, in a
// directory of its own: it needs no root beyond what its programs want, and touches no other instance. If
// its programs are missing the tests fail.
//
// The package knows our switch only as a flowtest.Switch. An OVS belongs to one goroutine.
package flowdiff
