// Package virtiouser is the port that is a virtio network card's driver over vhost-user: type
// virtio-user. It attaches to any vhost-user back end: another switch's dpdkvhostuser
// port, testpmd's net_vhost, another gvswitchd. A program that is no switch can use
// it as its network card, too; see the example.
//
// The card's memory is the port's own, a memfd that the back end is given: rings and buffers, a
// buffer for each descriptor (internal/virtio/driver). Received frames are lent from the
// buffers; sent ones are copied into them, behind their headers.
//
// A connection has one goroutine, which negotiates, builds the queues that poll threads use, and
// takes them away again; then it waits for the end of the connection or for other
// settings. A queue object never changes. Taking something away is always: out of Queues,
// Host.Changed, which returns when no poll thread is inside, then the act.
//
// The back end is another process. What it says is checked; a ring whose device breaks the
// rules stops and takes its connection with it.
//
// The package refuses to know bridges, flows and other ports.
package virtiouser
