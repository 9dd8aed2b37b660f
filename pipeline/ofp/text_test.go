package ofp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/flow"
)

// names are a bridge's with two ports and a table that have names.
type names struct{}

func (names) PortNumber(name string) (uint32, bool) {
	switch name {
	case "vm0":
		return 1, true
	case "a b":
		return 2, true
	}
	return 0, false
}

func (names) PortName(n uint32) string {
	return map[uint32]string{1: "vm0", 2: "a b", 3: "9p", 4: "in_port"}[n]
}

func (names) TableNumber(name string) (uint8, bool) { return 7, name == "acl" }

func (names) TableName(t uint8) string {
	if t == 7 {
		return "acl"
	}
	return ""
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{"table=acl,in_port=vm0,actions=vm0", " table=acl, in_port=vm0 actions=output:vm0"},
		{"table=7,actions=output:2,resubmit(vm0,acl)", ` table=acl, actions=output:"a b",resubmit(vm0,acl)`},
		{`actions=output:"a`, ""},
		{`actions=enqueue:vm0:5,output:3,output:4`, ` actions=enqueue:vm0:5,output:"9p",output:"in_port"`},
		{"actions=goto_table:acl", " actions=goto_table:acl"},
		{"actions=learn(table=acl,in_port=vm0)", " actions=learn(table=acl,in_port=vm0)"},
		{"actions=set_field:vm0->in_port", " actions=set_field:vm0->in_port"},
		{"actions=nosuch", ""},
		{"table=nosuch,actions=1", ""},
	} {
		m, err := ParseFlow(c.in, names{}, Add)
		switch {
		case err != nil && c.out != "":
			t.Errorf("%s: %v", c.in, err)
		case err == nil && string(m.Flow.Append(nil, names{})) != c.out:
			t.Errorf("%s:\n got %s\nwant %s", c.in, m.Flow.Append(nil, names{}), c.out)
		}
	}
}

// TestCommands tells what each command makes of cookies, tables, priorities and outputs.
func TestCommands(t *testing.T) {
	for _, c := range []struct {
		in   string
		cmd  Command
		want FlowMod // Match and Actions aside
	}{
		{"actions=1", Add, FlowMod{Flow: Flow{Priority: 32768}, OutPort: PortNone, OutGroup: GroupAny}},
		{"cookie=5,actions=1", Add, FlowMod{Flow: Flow{Priority: 32768, Cookie: 5}, NewCookie: 5, SetCookie: true, OutPort: PortNone, OutGroup: GroupAny}},
		{"actions=1", Modify, FlowMod{Flow: Flow{Table: TableAll, Priority: 32768}, OutPort: PortNone, OutGroup: GroupAny}},
		{"cookie=5,actions=1", Modify, FlowMod{Flow: Flow{Table: TableAll, Priority: 32768, Cookie: 5}, NewCookie: 5, SetCookie: true, OutPort: PortNone, OutGroup: GroupAny}},
		{"cookie=0x15/0xf,cookie=7,actions=1", Modify, FlowMod{Flow: Flow{Table: TableAll, Priority: 32768, Cookie: 5}, CookieMask: 15, NewCookie: 7, SetCookie: true, OutPort: PortNone, OutGroup: GroupAny}},
		{"cookie=7,cookie=5/-1,actions=1", ModifyStrict, FlowMod{Flow: Flow{Table: TableAll, Priority: 32768, Cookie: 5}, CookieMask: 1<<64 - 1, NewCookie: 7, SetCookie: true, OutPort: PortNone, OutGroup: GroupAny}},
		{"", Delete, FlowMod{Flow: Flow{Table: TableAll, Priority: 32768}, OutPort: PortNone, OutGroup: GroupAny}},
		{"table=3,cookie=5/-1,out_port=LOCAL,out_group=7", Delete, FlowMod{Flow: Flow{Table: 3, Priority: 32768, Cookie: 5}, CookieMask: 1<<64 - 1, OutPort: PortLocal, OutGroup: 7}},
		{"priority=5,tcp", DeleteStrict, FlowMod{Flow: Flow{Table: TableAll, Priority: 5}, OutPort: PortNone, OutGroup: GroupAny}},
		{"idle_timeout=5,hard_timeout=6,send_flow_rem,actions=1", Modify, FlowMod{Flow: Flow{Table: TableAll, Priority: 32768, Idle: 5, Hard: 6, Flags: SendFlowRem}, OutPort: PortNone, OutGroup: GroupAny}},
	} {
		m, err := ParseFlow(c.in, nil, c.cmd)
		if err != nil {
			t.Errorf("%q: %v", c.in, err)
			continue
		}
		c.want.Command = c.cmd
		m.Flow.Match, m.Flow.Actions = flow.Match{}, nil
		if got, want := fmt.Sprintf("%+v", m), fmt.Sprintf("%+v", c.want); got != want {
			t.Errorf("%q:\n got %s\nwant %s", c.in, got, want)
		}
	}
	for _, c := range []struct {
		in  string
		cmd Command
	}{
		{"actions=1", Delete},
		{"cookie=5", Delete},
		{"priority=5", Delete},
		{"idle_timeout=5", Delete},
		{"send_flow_rem", DeleteStrict},
		{"importance=5,actions=1", Modify},
		{"out_port=1,actions=1", Modify},
		{"tcp", Modify},
		{"out_port=nosuch", Delete},
		{"out_group=x", Delete},
	} {
		if m, err := ParseFlow(c.in, nil, c.cmd); err == nil {
			t.Errorf("%q, command %d: taken as%s", c.in, c.cmd, m.Flow.Append(nil, nil))
		}
	}
}

func TestFiles(t *testing.T) {
	mods, err := ParseFlows("# a comment\n\n"+
		"add table=1,tcp actions=1 # behind it\n"+
		"  modify table=2 actions=2\r\n"+
		"modify_strict,table=3,actions=3\n"+
		"delete table=4\n"+
		"delete_strict table=5,priority=7\n"+
		"table=6,actions=4", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []Command{Add, Modify, ModifyStrict, Delete, DeleteStrict, Add}
	if len(mods) != len(want) {
		t.Fatalf("%d flows", len(mods))
	}
	for i := range mods {
		if mods[i].Command != want[i] || mods[i].Flow.Table != uint8(i+1) {
			t.Errorf("flow %d: command %d, table %d", i, mods[i].Command, mods[i].Flow.Table)
		}
	}
	_, err = ParseFlows("actions=1\n\nactions=nosuch\n", nil)
	if err == nil || !strings.HasPrefix(err.Error(), "line 3: action nosuch: ") {
		t.Errorf("%v", err)
	}
	groups, err := ParseGroups("group_id=1,type=all\nmodify group_id=2,type=indirect,bucket=1\ndelete group_id=3\ninsert_bucket group_id=4,command_bucket_id=first,bucket=1\nremove_bucket group_id=5\nadd_or_mod group_id=6,type=ff", nil, GroupAdd)
	if err != nil {
		t.Fatal(err)
	}
	for i, cmd := range []GroupCommand{GroupAdd, GroupModify, GroupDelete, GroupInsertBuckets, GroupRemoveBuckets, GroupAddOrModify} {
		if groups[i].Command != cmd || groups[i].Def.ID != uint32(i+1) {
			t.Errorf("group %d: command %d", groups[i].Def.ID, groups[i].Command)
		}
	}
}

// TestErrors has errors say which part is wrong, and why.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"in_port=1", "there are no actions"},
		{"priority=70000,actions=1", "priority: 70000 is not in 0 to 65535"},
		{"table=300,actions=1", "table: table 300 is out of range: tables are 0 to 254"},
		{"actions=set_field:80->tcp_dst", "action set_field:80->tcp_dst: field tcp_dst: the match must say tcp or tcp6"},
		{"actions=set_field:6->nw_proto", "action set_field: field nw_proto is read-only"},
		{"actions=move:reg0[0..3]->reg1[]", "action move: reg0[0..3]->reg1[]: the source has 4 bits and the destination 32"},
		{"actions=load:256->reg0[0..7]", "action load: 256 does not fit into 8 bits"},
		{"table=5,actions=goto_table:5", "action goto_table:5: the flow is in table 5, and it can go to later tables only"},
		{"actions=conjunction(1,1/2),output:1", "action conjunction: there is another action beside it, output:1, and only note may be"},
		{"actions=goto_table:1,output:1", "instruction apply_actions: it must stand before goto_table"},
		{"actions=output:nosuch", `action output: there is no port "nosuch", and no field either`},
		{"actions=clone(learn(table=1,nw_dst=1.2.3.4))", "action learn(table=1,ip_dst=1.2.3.4): in the learned flow: field nw_dst: the match must say ip"},
		{"actions=push_vlan:0x8100,dec_ttl", "action dec_ttl: the match must say ip or ipv6 when there is push_vlan"},
	} {
		_, err := ParseFlow(c.in, nil, Add)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n got %v\nwant %s", c.in, err, c.want)
		}
	}
}

func TestMeters(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{"meter=1,kbps,bands=type=drop,rate=1000", "meter=1 kbps bands=\ntype=drop rate=1000"},
		{"meter=5 pktps burst stats bands=type=drop rate=10 burst_size=20", "meter=5 pktps burst stats bands=\ntype=drop rate=10 burst_size=20"},
		{"meter=1,kbps,band=type=dscp_remark,rate=5,prec_level=2,type=drop,rate=9", "meter=1 kbps bands=\ntype=dscp_remark rate=5 prec_level=2\ntype=drop rate=9"},
		{"meter=controller,pktps,bands=type=drop,rate=1", "meter=controller pktps bands=\ntype=drop rate=1"},
		{"meter=slowpath,kbps,bands=type=drop,rate=1", "meter=slowpath kbps bands=\ntype=drop rate=1"},
		{"meter=1,kbps", ""},
		{"meter=1,bands=type=drop,rate=1", ""},
		{"meter=1,kbps,pktps,bands=type=drop,rate=1", ""},
		{"kbps,bands=type=drop,rate=1", ""},
		{"meter=0,kbps,bands=type=drop,rate=1", ""},
		{"meter=all,kbps,bands=type=drop,rate=1", ""},
		{"meter=4294901761,kbps,bands=type=drop,rate=1", ""},
		{"meter=1,kbps,bands=", ""},
		{"meter=1,kbps,bands=rate=1", ""},
		{"meter=1,kbps,bands=type=drop", ""},
		{"meter=1,kbps,bands=type=drop,rate=0", ""},
		{"meter=1,kbps,bands=type=drop,rate=1,burst_size=5", ""},
		{"meter=1,kbps,burst,bands=type=drop,rate=1", ""},
		{"meter=1,kbps,bands=type=drop,rate=1,prec_level=1", ""},
		{"meter=1,kbps,bands=type=dscp_remark,rate=1", ""},
		{"meter=1,kbps,bands=type=dscp_remark,rate=1,type=drop,rate=1", ""},
		{"meter=1,kbps,bands=type=experimenter,rate=1", ""},
		{"meter=1,kbps,foo,bands=type=drop,rate=1", ""},
		{"meter=1,kbps,bands=type=drop,rate=1,foo=2", ""},
	} {
		m, err := ParseMeter(c.in)
		switch {
		case err != nil && c.out != "":
			t.Errorf("%s: %v", c.in, err)
		case err == nil && string(m.Append(nil)) != c.out:
			t.Errorf("%s: %q, and should be %q", c.in, m.Append(nil), c.out)
		}
	}
	for in, want := range map[string]uint32{"": MeterAll, "meter=all": MeterAll, " meter=7": 7, "meter=controller": MeterController, "meter=0": 0, "foo=5": 0, "meter=": 0, "meter=1,meter=2": 0} {
		id, err := ParseMeterID(in)
		if (err != nil) != (want == 0) || id != want && err == nil {
			t.Errorf("%q: %d, %v", in, id, err)
		}
	}
}

func TestBucketCommands(t *testing.T) {
	m, err := ParseGroupMod("group_id=1,command_bucket_id=5,bucket=bucket_id:9,weight:3,output:1,bucket=output:2", nil, GroupInsertBuckets)
	if err != nil || m.CommandBucket != 5 || len(m.Def.Buckets) != 2 || m.Def.Buckets[0].ID != 9 || m.Def.Buckets[0].Weight != 3 || m.Def.Buckets[1].ID != BucketAll {
		t.Errorf("%+v, %v", m, err)
	}
	for in, want := range map[string]uint32{
		"group_id=1,command_bucket_id=all": BucketAll, "group_id=1": BucketAll, "group_id=1,command_bucket_id=first": BucketFirst,
		"group_id=1,command_bucket_id=last": BucketLast, "group_id=1,command_bucket_id=3": 3,
	} {
		if m, err := ParseGroupMod(in, nil, GroupRemoveBuckets); err != nil || m.CommandBucket != want {
			t.Errorf("%s: %d, %v", in, m.CommandBucket, err)
		}
	}
	for in, want := range map[string]uint32{"": GroupAny, "group_id=all": GroupAny, "group_id=9": 9} {
		if m, err := ParseGroupMod(in, nil, GroupDelete); err != nil || m.Def.ID != want {
			t.Errorf("%s: %d, %v", in, m.Def.ID, err)
		}
	}
	for _, c := range []struct {
		in  string
		cmd GroupCommand
	}{
		{"group_id=1,bucket=output:1", GroupInsertBuckets},
		{"group_id=1,command_bucket_id=all,bucket=output:1", GroupInsertBuckets},
		{"group_id=1,command_bucket_id=4294967041", GroupRemoveBuckets},
		{"group_id=1,bucket=output:1", GroupRemoveBuckets},
		{"group_id=1,type=all", GroupDelete},
		{"group_id=all,type=all", GroupAdd},
	} {
		if m, err := ParseGroupMod(c.in, nil, c.cmd); err == nil {
			t.Errorf("%s: taken as %+v", c.in, m)
		}
	}
}

// TestOXMNames has every field whose name is known know it.
func TestOXMNames(t *testing.T) {
	for _, f := range flow.Fields() {
		name := oxmName(f)
		if flow.FieldByName(name) != f {
			t.Errorf("%s: %s is another field", f.Name, name)
		}
		if flow.FieldByName(setName(f)) != f {
			t.Errorf("%s: %s is another field", f.Name, setName(f))
		}
	}
}
