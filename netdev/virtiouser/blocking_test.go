package virtiouser

import (
	"encoding/binary"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/netdevtest"
)

// blocker is a back end that fills each descriptor it gets and makes it block, again and again.
func blocker(u *net.UnixConn, stop chan struct{}) {
	defer u.Close()
	c := vhostuser.NewConn(u)
	var m vhostuser.Message
	for {
		fds, err := c.Read(&m)
		if err != nil {
			return
		}
		for _, fd := range fds {
			if m.Request != vhostuser.SetVringKick && m.Request != vhostuser.SetVringCall {
				_ = unix.Close(fd)
				continue
			}
			_, _ = unix.Write(fd, binary.NativeEndian.AppendUint64(nil, 1<<64-2))
			_ = unix.SetNonblock(fd, false)
			go func() {
				defer unix.Close(fd)
				for {
					select {
					case <-stop:
						return
					case <-time.After(10 * time.Millisecond):
						_ = unix.SetNonblock(fd, false)
					}
				}
			}()
		}
		switch m.Request {
		case vhostuser.GetFeatures:
			m.Payload = vhostuser.AppendU64(nil, virtio.FVersion1|virtio.FProtocolFeatures)
		case vhostuser.GetProtocolFeatures:
			m.Payload = vhostuser.AppendU64(nil, 0)
		default:
			continue
		}
		if c.Write(&vhostuser.Message{Request: m.Request, Flags: vhostuser.Version | vhostuser.FlagReply, Payload: m.Payload}) != nil {
			return
		}
	}
}

// A back end whose descriptors block holds up nobody but its port: not the program, and not
// whoever takes the port away. The port says what is wrong.
func TestBlockingBackEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	stop := make(chan struct{})
	defer close(stop)
	connected := make(chan struct{}, 100)
	go func() {
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				return
			}
			connected <- struct{}{}
			go blocker(c, stop)
		}
	}()
	d, err := Open("p", netdev.Options{Map: map[string]string{"path": path}}, &side{})
	if err != nil {
		t.Fatal(err)
	}
	<-connected
	for range 10 {
		time.Sleep(20 * time.Millisecond)
		runtime.GC()
	}
	netdevtest.Eventually(t, 20*time.Second, "a fault", func() bool { return strings.Contains(d.Info().Fault, "O_NONBLOCK") })
	<-connected // it gets another chance
	time.Sleep(100 * time.Millisecond)
	start := time.Now()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("Close took %v", took)
	}
}
