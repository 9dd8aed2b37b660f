// Package ofp is OpenFlow as values: flows, actions, groups and meters, as a controller or
// a person gives them to a switch, and their text form, which is ovs-ofctl's.
//
// It says what can be said, and refuses what cannot be right (a field without its
// prerequisites, a load into a field that is read-only). It knows no tables, no packets and no
// ports: what a name stands for is asked from a Names. Values are plain; nothing
// here is shared.
//
// Text is what ovs-ofctl 3.1 reads and prints; tests have both read the same. Actions are printed as they were
// written, as ovs-ofctl's diff-flows shows them. (Between ovs-ofctl and a switch OpenFlow may put some into other
// words: mod_nw_src is set_field in OpenFlow 1.5, and set_field is load in 1.0.) Where ovs-ofctl cuts off what
// does not fit, a number of more than 32 bits for instance, that is refused here.
//
// Sources: OpenFlow 1.5.1, ovs-ofctl(8), ovs-actions(7), ovs-fields(7), Open vSwitch 3.1's lib/ofp-*.c for the
// order and form of what is printed.
package ofp
