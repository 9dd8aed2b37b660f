// Package dummy is the device type "dummy": a port that needs no root and no kernel.
// Frames go in by Receive, and what the switch sends is kept for Transmitted and
// written to pcap files, so a whole switch can be tested in one process.
//
// The offloads that its receiver takes, its link, and whether it has room are options, so
// that every way through the switch can be had. Being its own receiver, it checks that
// what it is sent fits them.
//
// It keeps the contract of package netdev in all but one point: with pcap files,
// its calls may block on the disk. Without, they allocate nothing once the
// kept frames have been as long as they will be.
package dummy
