package main

import (
	"os"
	"os/exec"
	"time"
)

// nicWait is how long eth0 may take to appear after its driver was loaded.
const nicWait = 5 * time.Second

// bringUp loads the modules and configures the network. What fails is warned
// about and the rest is done all the same: the test sees what is missing.
func (a *agent) bringUp(set map[string]string) {
	a.must("hostname", set["hostname"])
	for _, m := range modules() {
		a.must("insmod", m)
	}
	sysctl("all/accept_dad", "0")
	sysctl("default/accept_dad", "0")
	a.must("ip", "link", "set", "lo", "up")

	for end := time.Now().Add(nicWait); !exists("/sys/class/net/eth0"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			a.warn("no eth0")
			return
		}
	}
	if v := set["mac"]; v != "" {
		a.must("ip", "link", "set", "eth0", "address", v)
	}
	if v := set["mtu"]; v != "" {
		a.must("ip", "link", "set", "eth0", "mtu", v)
	}
	if v := set["queues"]; v != "" && v != "1" {
		a.must("ethtool", "-L", "eth0", "combined", v)
	}
	sysctl("eth0/accept_dad", "0")
	a.must("ip", "link", "set", "eth0", "up")
	dev := "eth0"
	if v := set["vlan"]; v != "" {
		dev = "eth0." + v
		a.must("ip", "link", "add", "link", "eth0", "name", dev, "type", "vlan", "id", v)
		a.must("ip", "link", "set", dev, "up")
	}
	if v := set["ip"]; v != "" {
		a.must("ip", "addr", "add", v, "dev", dev)
	}
	if v := set["ip6"]; v != "" {
		a.must("ip", "-6", "addr", "add", v, "dev", dev, "nodad")
	}
}

func (a *agent) must(name string, args ...string) {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		a.warn("%s %v: %v: %s", name, args, err, out)
	}
}

// sysctl sets an IPv6 setting. A kernel without IPv6 has none of them.
func sysctl(key, value string) {
	_ = os.WriteFile("/proc/sys/net/ipv6/conf/"+key, []byte(value), 0o644)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
