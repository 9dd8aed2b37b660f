// Package cpu is the processor as the poll threads see it: its cycle counter
// and which of its cores a thread may run on.
package cpu
