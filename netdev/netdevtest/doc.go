// Package netdevtest is what the tests of device providers share: namespaces, a host that
// records, frames, and a loop that forwards between two devices as a poll thread
// would. It is for tests only, needs root where it makes namespaces, and
// fails the test when something is missing.
package netdevtest
