package virtiouser

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/netdev"
)

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		options string
		o       netdev.Options
		want    string // part of the error
		alone   bool   // the setting can be left out
	}{
		{"path=/s", netdev.Options{}, "", false},
		{"path=s queues=128 queue_size=32768 packed=true mrg_rxbuf=false in_order=false indirect=true", netdev.Options{RunDir: "/run"}, "", false},
		{"path=/s mac=02:00:00:00:00:01 vlan-insert=4094 rx-burst=1", netdev.Options{}, "", false},
		{"", netdev.Options{}, "options:path: missing", false},
		{"path=/" + strings.Repeat("x", 107), netdev.Options{}, "108 bytes", false},
		{"path=/s queues=129", netdev.Options{}, "options:queues=129: must be a number from 1 to 128", true},
		{"path=/s queue_size=100", netdev.Options{}, "options:queue_size=100: must be a power of two", true},
		{"path=/s queue_size=2", netdev.Options{}, "options:queue_size=2", true},
		{"path=/s packed=1", netdev.Options{}, "options:packed=1: must be true or false", true},
		{"path=/s vlan-insert=4095", netdev.Options{}, "options:vlan-insert=4095: must be a number from 0 to 4094", true},
		{"path=/s mac=03:00:00:00:00:01", netdev.Options{}, "mac=03:00:00:00:00:01: not a unicast", false},
		{"path=/s", netdev.Options{MAC: "nobody"}, "mac=nobody: not a unicast", false},
		{"path=/s", netdev.Options{MTU: 67}, "mtu_request=67", true},
		{"path=/s vhost-server-path=/s", netdev.Options{}, "options:vhost-server-path=/s: not an option", false},
	} {
		c.o.Map = map[string]string{}
		for _, kv := range strings.Fields(c.options) {
			k, v, _ := strings.Cut(kv, "=")
			c.o.Map[k] = v
		}
		err := Check("p", c.o)
		var alone *netdev.SettingError
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q: error %v, want %q", c.options, err, c.want)
		case errors.As(err, &alone) != c.alone:
			t.Errorf("%q: a setting that can be left out: %v", c.options, !c.alone)
		}
	}
}

// A server's socket that another process has is not taken from it; one that was left behind is.
func TestServerSocket(t *testing.T) {
	o := netdev.Options{Map: map[string]string{"path": filepath.Join(t.TempDir(), "s"), "server": "true"}}
	a, err := Open("a", o, &side{})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := Open("b", o, &side{}); err == nil {
		_ = b.Close()
		t.Error("two ports have one socket")
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	b, err := Open("b", o, &side{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
