// Package flowtest is a language for tests of a flow switch, and what runs them. A
// test is text: the rules that the switch gets, a packet, and what must come of it. It needs
// no root: packets go in and out by dummy ports.
//
//	from ovs-actions(7), push_vlan             the document that the cases below are written from
//	let web = tcp,nw_dst=10.0.0.2,tp_dst=80    $web is replaced by that text from here on
//
//	case a tag is pushed                       begins a case: a new switch
//	add-flow in_port=1,actions=push_vlan:0x8100,set_field:4101->vlan_vid,output:2,output:3
//	send 1 $web                                a frame that has this flow comes in at port 1
//	  2: tags=5                                and leaves at port 2 as it was, but with tag 5,
//	  3: tags=5                                and at port 3, and nowhere else
//	send 2 $web
//	  drop no_rule                             leaves nowhere, for this reason
//
// A case that names no port has ports 1 to 4. What may stand in it:
//
//	bridge NAME [mac-table-size=N] [forward-bpdu=true] [fail-mode=standalone] [flood-vlans=V,V]
//	port N [tag=V] [trunks=V,V] [vlan_mode=M] [protected=true] [priority-tags=P] [link=false] [cvlans=..] [qinq-ethtype=..]
//	port N peer=BRIDGE:N                       one end of a patch
//	add-flow, mod-flows, del-flows, add-group, mod-group, del-groups, insert-buckets, remove-buckets,
//	add-meter, mod-meter, del-meters TEXT      as ovs-ofctl takes it; --strict may come before it
//	mod-port N up|down|no-flood|...            as ovs-ofctl
//	link N up|down                             the port's carrier
//	mirror NAME COLUMN=VALUE ...               a mirror, by the columns of ovs-vswitchd.conf.db(5); ports are numbers
//	refuse COMMAND                             must fail; an indented line "because TEXT" is part of our error
//	send [BRIDGE:]N FRAME                      and indented what is expected
//	batch [BRIDGE:]N                           and indented: + FRAME for each frame of one burst, what is expected
//	flows [FILTER]                             and indented all flows, as "ovs-ofctl --no-stats dump-flows"
//	count FILTER = N packets, N bytes          the sum over the flows; either may be left out
//	macs                                       and indented the bridge's addresses: PORT VLAN MAC
//	flush                                      forgets them
//	wait SECONDS                               lets time go by
//	not ovs REASON                             Open vSwitch is known to do otherwise, and why we do
//
// Bridge br0 is there from the start. A command is for the bridge that was last named by a line "bridge".
//
// A FRAME is text for flow.Compose; "hex" and bytes, where BYTES*N repeats; then "len=N" for one of that
// length, "zeros=N" for so many zeros behind it. over{FLOW} stands for the frame of FLOW without its
// Ethernet header, as payload.
//
// What is expected of a frame is indented below it; frames of one port in their order:
//
//	PORT: same          the frame that was sent
//	PORT: CHANGES       it, changed: field=value as in flows; tags=none, tags=5, tags=5/p3+6, tags=0x88a8:5
//	PORT: cut=N         its first N bytes
//	PORT: flow FRAME    that frame; also hex
//	PORT: #2 CHANGES    the second frame of the burst
//	PORT|PORT: ...      at exactly one of these ports
//	drop [REASON]       nowhere
//	looks FIELDS        the megaflow matches on these fields ...
//	ignores FIELDS      ... and no bit of these
//	megaflow TEXT       is this one; actions TEXT: so are its actions
//
// A line that ends with a backslash goes on in the next one. # begins a comment.
//
// The package refuses to know how a switch works: it asks a Switch, of which there is
// one here (New), and one in test/flowdiff that is a real Open vSwitch. A Case and a Switch belong to one
// goroutine.
package flowtest
