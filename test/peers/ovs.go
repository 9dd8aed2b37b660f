package peers

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gvswitch/gvswitch/test/proc"
)

// vswitchd is Debian's OVS with DPDK.
const vswitchd = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"

// OVS is a private OVS-DPDK, in a network namespace of its own, because two in
// one namespace collide on the tap "ovs-netdev".
type OVS struct {
	Dir string // sockets of dpdkvhostuser ports appear here
	db  *OVSDB
	ns  *Netns
	ctl string
	sw  *proc.Process
}

// StartOVS starts one with its files in dir and its poll thread on the CPUs of
// mask. Settings are more of other_config: "KEY=VALUE". It needs 512 MB of free
// 2 MB hugepages.
func StartOVS(ctx context.Context, dir, mask string, settings ...string) (*OVS, error) {
	if err := proc.Need(vswitchd, "openvswitch-switch-dpdk"); err != nil {
		return nil, err
	}
	o := &OVS{Dir: dir, ctl: filepath.Join(dir, "vswitchd.ctl")}
	if err := o.start(ctx, mask, settings); err != nil {
		out := ""
		if o.sw != nil {
			out = o.sw.Output()
		}
		o.Stop()
		return nil, fmt.Errorf("OVS-DPDK: %w\n%s", err, out)
	}
	return o, nil
}

func (o *OVS) start(ctx context.Context, mask string, settings []string) (err error) {
	if o.ns, err = NewNetns(ctx, "ovs"); err != nil {
		return err
	}
	if o.db, err = StartOVSDB(ctx, o.Dir); err != nil {
		return err
	}
	set := []string{
		"--no-wait", "set", "Open_vSwitch", ".",
		"other_config:dpdk-init=true", "other_config:dpdk-socket-mem=512",
		"other_config:pmd-cpu-mask=" + mask, "other_config:dpdk-lcore-mask=0x1",
		"other_config:dpdk-extra=--no-pci --single-file-segments --file-prefix=" + o.ns.Name,
	}
	for _, s := range settings {
		set = append(set, "other_config:"+s)
	}
	if _, err := o.Vsctl(ctx, set...); err != nil {
		return err
	}
	cmd := o.ns.Wrap(vswitchd, o.db.Address, "--unixctl="+o.ctl, "--pidfile="+filepath.Join(o.Dir, "vswitchd.pid"))
	cmd.Env = ovsEnv(o.Dir)
	if o.sw, err = proc.Start(cmd); err != nil {
		return err
	}
	_, err = o.Vsctl(ctx, "add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev")
	return err
}

// Vsctl runs ovs-vsctl on it.
func (o *OVS) Vsctl(ctx context.Context, args ...string) (string, error) {
	return o.db.Vsctl(ctx, args...)
}

// Appctl runs ovs-appctl on it.
func (o *OVS) Appctl(ctx context.Context, args ...string) (string, error) {
	return proc.Run(ctx, "ovs-appctl", append([]string{"-t", o.ctl}, args...)...)
}

// AddVhost adds a dpdkvhostuser port to the bridge br0 and returns its socket.
func (o *OVS) AddVhost(ctx context.Context, name string) (string, error) {
	_, err := o.Vsctl(ctx, "add-port", "br0", name, "--", "set", "Interface", name, "type=dpdkvhostuser")
	return filepath.Join(o.Dir, name), err
}

// AddVhostClient adds a dpdkvhostuserclient port that connects to socket.
func (o *OVS) AddVhostClient(ctx context.Context, name, socket string) error {
	_, err := o.Vsctl(ctx, "add-port", "br0", name, "--",
		"set", "Interface", name, "type=dpdkvhostuserclient", "options:vhost-server-path="+socket)
	return err
}

// Stop ends it. It serves an instance that did not come up, too.
func (o *OVS) Stop() {
	if o.sw != nil {
		_ = o.sw.Stop(10 * time.Second)
	}
	if o.db != nil {
		o.db.Stop()
	}
	if o.ns != nil {
		o.ns.Remove()
	}
}

// Netns is the namespace that its vswitchd runs in.
func (o *OVS) Netns() *Netns { return o.ns }
