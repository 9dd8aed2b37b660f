// Command bench measures gvswitch beside OVS-DPDK on this machine and writes the
// table of docs/performance.md.
//
//	go run ./bench [-rows forward,testpmd,...] [-only TEXT] [-secs 3] [-rounds 3] [-out FILE]
//
// The switches run in turn, A B A B ..., each started anew, with one poll thread
// on CPU 0; the generator (gen/gen.c, DPDK's virtio driver) has CPU 1. Every figure
// is a median over the rounds. It needs root, two CPUs that nothing else uses, and
// what test/deps.sh installs.
//
// Rows virtio, layouts and batching take virtio by itself: gvswitch's devices in a loop that does nothing else (bench/io) beside
// testpmd, a host on CPU 0 and a guest on CPU 1.
//
// Rows that a requirement names say it in their last column, and whether it is met. Frames lost are
// exact where the generator bounds how many are under way (see gen.c): none is lost by its own pauses.
//
// Cycles per packet are each switch's own account of itself: time stamp counter
// cycles of the poll iterations that moved packets, over packets received.
package main
