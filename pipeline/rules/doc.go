// Package rules is a bridge's flow tables, groups and meters: what was asked of the bridge
// by flow mods, and the lookup that finds the rule for a packet together with
// the bits of it that had to be looked at.
//
// It knows no ports, no packets (but their keys) and not what actions do; it reads actions only to
// tell which groups, meters, ports and fields they name.
//
// # Concurrency
//
// Readers (Lookup, Group, Meter, Version, the Add methods) take no lock, wait for nobody and
// allocate nothing. Every rule carries the version in which it came and the one in which it
// went; a reader asks Version once and looks at that version for as long as one decision takes.
// So a batch of changes is seen whole or not at all. Rules that went stay where they are for
// a while. A reader so slow that its version has been cleared away is told so by Valid, and
// decides again.
//
// Writers are serialised, in two ways. A small change (up to 32 adds or strict
// changes: what a learn action does on a poll thread) holds the lock for some microseconds. A
// big change is done in pieces (16 rules, some 50 microseconds) under a version from the future, and lets
// others in between; when it is published it is reconciled with what they did, as if
// it had come after them. Big changes wait for each other.
//
// # Cost
//
// Measured with 100,000 rules, on a 2.3 GHz core: 3 microseconds to add one, 240 bytes of heap for
// a rule over port and MAC address, 480 for one over a 5-tuple with prefixes (a third of it in the tries), the
// slice of its actions not counted.
package rules
