package guest

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/gvswitch/gvswitch/test/proc"
)

// agentFD is the file descriptor that a guest's process has the agent's line on:
// the first of exec.Cmd's ExtraFiles.
const agentFD = 3

// command is the program that boots the guest. dir is for its own files.
func (c *Config) command(dir string) (*exec.Cmd, error) {
	image, err := images[c.Kind]()
	if err != nil {
		return nil, err
	}
	if c.Kind == UML {
		return c.umlCommand(dir, image)
	}
	return c.qemuCommand(dir, image)
}

func (c *Config) umlCommand(dir, image string) (*exec.Cmd, error) {
	if err := proc.Need("linux.uml", "user-mode-linux"); err != nil {
		return nil, err
	}
	args := []string{
		fmt.Sprintf("mem=%dM", c.Memory), "initrd=" + image,
		"umid=" + c.Name, "uml_dir=" + dir, "noreboot", "panic=-1", "quiet", "random.trust_cpu=on",
		"con0=null,fd:1", "con=null", "ssl=null", fmt.Sprintf("ssl0=fd:%d", agentFD),
		fmt.Sprintf("virtio_uml.device=%s:1", c.Socket),
		"guest.agent=ttyS0",
	}
	return exec.Command("linux.uml", append(args, c.params()...)...), nil
}

func (c *Config) qemuCommand(dir, image string) (*exec.Cmd, error) {
	if err := proc.Need("qemu-system-x86_64", "qemu-system-x86"); err != nil {
		return nil, err
	}
	kernel, err := qemuKernel()
	if err != nil {
		return nil, err
	}
	// QEMU 7.2 without KVM crashes when a guest sets up MSI-X on a vhost-user
	// card, so there are no vectors and it falls back to INTx.
	nic := []string{"virtio-net-pci", "netdev=n0", "vectors=0"}
	if c.MAC != "" {
		nic = append(nic, "mac="+c.MAC)
	}
	if c.Queues > 1 {
		nic = append(nic, "mq=on")
	}
	if c.NoMrg {
		nic = append(nic, "mrg_rxbuf=off")
	}
	if c.QueueSize != 0 {
		nic = append(nic, fmt.Sprintf("rx_queue_size=%d,tx_queue_size=%d", c.QueueSize, c.QueueSize))
	}
	if c.Device != "" {
		nic = append(nic, c.Device)
	}
	socket := "socket,id=c0,path=" + c.Socket
	if c.Listen {
		socket += ",server=on"
	} else if c.Reconnect > 0 {
		socket += fmt.Sprintf(",reconnect=%d", int(c.Reconnect.Seconds()))
	}
	var iommu []string
	if c.IOMMU {
		// ATS is of PCI Express, so the card has a port of its own.
		iommu = []string{"-device", "intel-iommu,intremap=on,device-iotlb=on", "-device", "pcie-root-port,id=rp0,chassis=1,slot=1"}
		nic = append(nic, "bus=rp0", "disable-legacy=on", "iommu_platform=on", "ats=on")
	}
	boot := append([]string{"console=ttyS0", "quiet", "panic=-1", "mitigations=off", "guest.agent=ttyS1"}, c.params()...)
	machine := "q35,memory-backend=m0"
	if c.IOMMU {
		machine += ",kernel-irqchip=split"
		boot = append(boot, "intel_iommu=on")
	}
	args := []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-machine", machine, "-accel", "tcg", "-cpu", "max",
		"-smp", fmt.Sprint(c.Queues), "-m", fmt.Sprintf("%dM", c.Memory),
		"-object", fmt.Sprintf("memory-backend-memfd,id=m0,share=on,size=%dM", c.Memory),
		"-kernel", kernel, "-initrd", image, "-append", strings.Join(boot, " "),
		"-chardev", "stdio,id=con", "-serial", "chardev:con",
		"-chardev", fmt.Sprintf("socket,id=agent,fd=%d", agentFD), "-serial", "chardev:agent",
		"-chardev", socket,
		"-netdev", fmt.Sprintf("vhost-user,id=n0,chardev=c0,queues=%d", c.Queues),
	}
	// The IOMMU has to be there before what is behind it.
	args = append(append(args, iommu...), "-device", strings.Join(nic, ","))
	if c.Migrates {
		args = append(args, "-qmp", "unix:"+qmpSocket(dir)+",server=on,wait=off")
	}
	if c.incoming != "" {
		args = append(args, "-incoming", c.incoming)
	}
	return exec.Command("qemu-system-x86_64", args...), nil
}
