// Package peers starts the programs that the tests run the switch against: the
// kernel in network namespaces, DPDK's testpmd, iperf3, a private OVS-DPDK and a
// private ovsdb-server.
//
// Each is private to the test that starts it: its own directories, sockets and
// namespaces, gone when it is stopped or the test dies. The package knows nothing
// of gvswitch. Its values are used from one goroutine at a time, unless they say
// otherwise. What the machine must have is installed by test/deps.sh.
package peers

import "context"

// Host is a place where programs run and that has addresses: a guest, a
// namespace, or this machine.
type Host interface {
	// Run runs a shell command to its end. Another exit status than 0 is an
	// error that has what it printed.
	Run(ctx context.Context, command string) (stdout string, err error)
	// Background starts one that goes on until stop.
	Background(ctx context.Context, command string) (stop func(), err error)
}
