// Package guest boots real Linux guests whose network card is a vhost-user
// socket of the switch under test, and runs commands in them.
//
// Two kinds: User Mode Linux, whose virtio_net is the kernel's own at native
// speed but which can only connect, with one queue pair; and QEMU under software
// emulation, which is slow but can do multiqueue, listen, and reconnect. Both
// boot from an initramfs built here out of Debian's packages, with the program
// in agent as /init, and are driven over a serial line (package wire).
//
// The package does not know which switch is at the other end of the socket. A
// Guest's methods may be called from any goroutine; commands run side by side.
//
// What the machine must have is installed by test/deps.sh.
package guest
