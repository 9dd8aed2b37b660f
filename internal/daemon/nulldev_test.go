package daemon_test

import "github.com/gvswitch/gvswitch/netdev"

type nullDevice struct{ mtu int }

func (d *nullDevice) Info() netdev.Info { return netdev.Info{Link: true, Driver: "null", MTU: d.mtu} }

func (*nullDevice) Queues() ([]netdev.RxQueue, []netdev.TxQueue) { return nil, nil }
func (*nullDevice) Close() error                                 { return nil }

func openNull(_ string, o netdev.Options, _ netdev.Host) (netdev.Device, error) {
	return &nullDevice{max(o.MTU, 1500)}, nil
}
