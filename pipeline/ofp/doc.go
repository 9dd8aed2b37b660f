// Package ofp is OpenFlow as values: flows, actions, groups and meters, as a controller or
// a person gives them to a switch, and their text form, which is ovs-ofctl's.
//
// It says what can be said, and refuses what cannot be right (a field without its
// prerequisites, a load into a field that is read-only). It knows no tables, no packets and no
// ports: what a name stands for is asked from a Names. Values are plain; nothing
// here is shared.
//
// Sources: OpenFlow 1.5.1, ovs-ofctl(8), ovs-actions(7), ovs-fields(7).
package ofp
