package daemon_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/internal/control"
)

// Every command that needs no argument answers in both forms, and says what is wrong with an argument that it does not know.
func TestCommandsAnswer(t *testing.T) {
	r := newRig(t)
	if err := r.start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	}()
	if out := r.script("vsctl add-br br0 -- add-port br0 p0 -- set Interface p0 type=dummy -- add-bond br0 bond0 b1 b2 bond_mode=balance-slb -- set Interface b1 type=dummy -- set Interface b2 type=dummy"); out != "" {
		t.Fatal(out)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := control.Dial(ctx, control.Socket(r.run()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	list, err := c.Call(ctx, "list-commands")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetJSON(ctx); err != nil {
		t.Fatal(err)
	}
	args := map[string][]string{
		"fdb/show": {"br0"}, "fdb/add": {"br0", "p0", "1", "02:00:00:00:00:01"}, "fdb/del": {"br0", "1", "02:00:00:00:00:01"},
		"vlog/set": {"any:info"}, "coverage/read-counter": {"poll_sleep"}, "netdev-dummy/receive": {"p0", "arp", "--len", "100"},
		"bridge/dump-flows": {"br0"}, "dpif/dump-flows": {"br0"}, "upcall/set-flow-limit": {"1000"}, "ofproto/trace": {"br0", "in_port=1,arp"},
		"ofctl/change-flows": {"br0", "add", "priority=5,actions=drop"}, "ofctl/replace-flows": {"br0", "arp,actions=normal"},
		"ofctl/change-groups": {"br0", "add", "group_id=1,type=all,bucket=output:1"}, "ofctl/change-meter": {"br0", "add", "meter=1,pktps,bands=type=drop,rate=10"},
		"ofctl/dump-flows": {"br0"}, "ofctl/dump-aggregate": {"br0"}, "ofctl/dump-tables": {"br0"}, "ofctl/dump-ports-desc": {"br0"}, "ofctl/dump-desc": {"br0"},
		"ofctl/show": {"br0"}, "ofctl/names": {"br0"}, "ofctl/mod-port": {"br0", "p0", "no-flood"}, "ofctl/dump-groups": {"br0"},
		"ofctl/dump-group-stats": {"br0"}, "ofctl/dump-group-features": {"br0"}, "ofctl/dump-meters": {"br0"}, "ofctl/meter-stats": {"br0"},
		"ofctl/meter-features": {"br0"}, "ofctl/packet-out": {"br0", "in_port=1,packet=ffffffffffff0200000000010806,actions=drop"}, "ofctl/stage": {""},
		"bond/hash": {"02:00:00:00:00:01"}, "bond/show": {"bond0"}, "bond/migrate": {"bond0", "3", "b1"}, "bond/set-active-member": {"bond0", "b1"},
		"bond/set-active-slave": {"bond0", "b1"}, "bond/enable-member": {"bond0", "b1"}, "bond/enable-slave": {"bond0", "b1"},
		"bond/disable-member": {"bond0", "b2"}, "bond/disable-slave": {"bond0", "b2"},
		"netdev-dummy/transmitted": {"p0"}, "netdev-dummy/set-link": {"p0", "up"}, "time/warp": {"1000"},
	}
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) == 0 || !strings.HasPrefix(line, "  ") || fields[0] == "exit" || strings.HasPrefix(fields[0], "explain/") || strings.HasPrefix(fields[0], "stream/") ||
			strings.HasPrefix(fields[0], "vhost-user/") || // there is no guest
			fields[0] == "set-options" {
			continue
		}
		name := fields[0]
		raw, err := c.CallJSON(ctx, name, args[name]...)
		if err != nil || !json.Valid(raw) {
			t.Errorf("%s: %s, %v", name, raw, err)
		}
		if _, err := c.CallJSON(ctx, name, "nonsense", "nonsense"); err == nil && name != "vlog/set" && name != "ofctl/stage" {
			t.Errorf("%s takes anything", name)
		}
	}
}

// Commands, devices' events and changes of the configuration at the same time: nothing is lost, nobody waits for ever.
func TestChurn(t *testing.T) {
	r := newRig(t)
	if err := r.start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for _, commands := range [][]string{
		{"dump-ports", "fdb/stats-show", "dpif/show", "memory/show"},
		{"pmd-stats-show", "pmd-rxq-show", "pmd-perf-show", "coverage/show", "conservation/check"},
		{"ofctl/change-flows br0 add priority=9,tcp,in_port=p0,actions=normal", "ofctl/dump-flows br0", "ofctl/change-flows br0 delete tcp", "ofproto/trace br0 in_port=1,tcp"},
		{"ofctl/dump-tables br0", "dpctl/dump-flows", "dpctl/del-flows", "dpif-netdev/subtable-lookup-info-get", "upcall/show", "revalidator/wait"},
		{"netdev-dummy/receive p0 arp,dl_src=02:00:00:00:00:01,dl_dst=ff:ff:ff:ff:ff:ff", "netdev-dummy/set-link p0 down", "netdev-dummy/set-link p0 up"},
	} {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				words := strings.Fields(commands[i%len(commands)])
				_, err := control.Call(ctx, control.Socket(r.run()), words[0], words[1:]...)
				if err != nil && ctx.Err() == nil && !strings.Contains(err.Error(), "no such port") && !strings.Contains(err.Error(), "no such bridge") {
					t.Errorf("%s: %v", words, err)
				}
			}
		})
	}
	out := r.script(`
vsctl add-br br0 -- add-port br0 p0 -- set Interface p0 type=dummy
for i in $(seq 15); do
  vsctl add-port br0 a -- set Interface a type=dummy options:n_rxq=2 -- add-port br0 b tag=$i -- set Interface b type=dpdkvhostuser
  vsctl set Interface a options:n_rxq=3 -- set Port b tag=20 -- set Open_vSwitch . other_config:pmd-cpu-mask=$((i % 2 + 1))
  vsctl del-port a -- del-port b -- add-br br1 -- del-br br1
done
iface p0
vsctl list-ports br0
appctl ofproto/list`)
	cancel()
	wg.Wait()
	if want := "p0 ofport=1 error=[] link="; !strings.HasPrefix(out, want) || !strings.HasSuffix(out, "\np0\nbr0\n") {
		t.Errorf("got %q", out)
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}
