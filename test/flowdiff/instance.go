package flowdiff

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// patience is how long anything may take that Open vSwitch is asked for.
const patience = 10 * time.Second

// schemaPath is the database schema of Debian's package openvswitch-switch.
const schemaPath = "/usr/share/openvswitch/vswitch.ovsschema"

// versions lets ovs-ofctl choose whatever OpenFlow version says what is to be said.
const versions = "OpenFlow10,OpenFlow11,OpenFlow12,OpenFlow13,OpenFlow14,OpenFlow15"

// instance is the programs of an Open vSwitch of our own.
type instance struct {
	dir       string
	processes []process
	conn      net.Conn
	replies   *json.Decoder
	calls     int
}

// process is one of them; gone is closed when it has ended.
type process struct {
	*exec.Cmd
	gone chan struct{}
}

// start starts them in dir, which must be empty.
func start(dir string) (*instance, error) {
	o := &instance{dir: dir}
	if err := o.begin(); err != nil {
		return nil, errors.Join(fmt.Errorf("Open vSwitch: %w", err), o.stop())
	}
	return o, nil
}

func (o *instance) path(name string) string { return filepath.Join(o.dir, name) }

func (o *instance) begin() error {
	if _, err := o.command("", "ovsdb-tool", "create", o.path("conf.db"), schemaPath); err != nil {
		return err
	}
	if err := o.spawn("ovsdb-server", o.path("conf.db"), "--remote=punix:"+o.path("db.sock"),
		"--unixctl="+o.path("db.ctl"), "--log-file="+o.path("db.log"), "-vconsole:off"); err != nil {
		return err
	}
	if err := o.wait("db.sock"); err != nil {
		return err
	}
	if _, err := o.command("", "ovs-vsctl", "--no-wait", "--db=unix:"+o.path("db.sock"), "init",
		// As many tags as our switch looks at.
		"--", "set", "Open_vSwitch", ".", "other_config:vlan-limit=2"); err != nil {
		return err
	}
	if err := o.spawn("ovs-vswitchd", "unix:"+o.path("db.sock"), "--enable-dummy=override", "--disable-system",
		"--unixctl="+o.path("ctl"), "--log-file="+o.path("vswitchd.log"), "-vconsole:off"); err != nil {
		return err
	}
	if err := o.wait("ctl"); err != nil {
		return err
	}
	conn, err := net.Dial("unix", o.path("ctl"))
	if err != nil {
		return err
	}
	o.conn, o.replies = conn, json.NewDecoder(conn)
	return nil
}

func (o *instance) environment() []string {
	return append(os.Environ(), "OVS_RUNDIR="+o.dir, "OVS_LOGDIR="+o.dir, "OVS_DBDIR="+o.dir)
}

func (o *instance) spawn(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Dir = o.environment(), o.dir
	if err := cmd.Start(); err != nil {
		return err
	}
	p := process{cmd, make(chan struct{})}
	go func() {
		_ = cmd.Wait() // it ends by being killed, or died
		close(p.gone)
	}()
	o.processes = append(o.processes, p)
	return nil
}

// wait waits for a socket.
func (o *instance) wait(name string) error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if c, err := net.Dial("unix", o.path(name)); err == nil {
			return c.Close()
		}
	}
	return fmt.Errorf("%s: does not come", o.path(name))
}

func (o *instance) stop() error {
	var errs []error
	if o.conn != nil {
		errs = append(errs, o.conn.Close())
	}
	for _, p := range o.processes {
		if err := p.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
			errs = append(errs, err)
		}
		<-p.gone
	}
	return errors.Join(errs...)
}

// died tells whether one of the programs ends or has ended by itself, given a moment.
func (o *instance) died() bool {
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		for _, p := range o.processes {
			select {
			case <-p.gone:
				return true
			default:
			}
		}
	}
	return false
}

// command runs a program to its end and gives what it wrote.
func (o *instance) command(input, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env, cmd.Dir = o.environment(), o.dir
	cmd.Stdin = strings.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

func (o *instance) vsctl(args ...string) (string, error) {
	return o.command("", "ovs-vsctl", append([]string{"--timeout=10", "--db=unix:" + o.path("db.sock")}, args...)...)
}

// bridgeSocket is where ovs-ofctl reaches a bridge.
func (o *instance) bridgeSocket(bridge string) string { return "unix:" + o.path(bridge+".mgmt") }

// call runs a command of ovs-appctl.
func (o *instance) call(method string, args ...string) (string, error) {
	request, err := o.request(method, args)
	if err != nil {
		return "", err
	}
	if _, err := o.conn.Write(request); err != nil {
		return "", err
	}
	return o.reply(method, args)
}

// perRound is how many commands the daemon answers at most in one round of its main loop
// (lib/unixctl.c, run_connection).
const perRound = 10

// settle returns when the main loop has run so many rounds: in each, every port's next packet is handled, then
// commands are answered.
func (o *instance) settle(rounds int) error {
	var all []byte
	for range perRound*rounds + 1 {
		r, err := o.request("version", nil)
		if err != nil {
			return err
		}
		all = append(all, r...)
	}
	if _, err := o.conn.Write(all); err != nil {
		return err
	}
	for range perRound*rounds + 1 {
		if _, err := o.reply("version", nil); err != nil {
			return err
		}
	}
	return nil
}

func (o *instance) request(method string, args []string) ([]byte, error) {
	if args == nil {
		args = []string{}
	}
	o.calls++
	if err := o.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"method": method, "params": args, "id": o.calls})
}

func (o *instance) reply(method string, args []string) (string, error) {
	var reply struct {
		Result, Error *string
	}
	if err := o.replies.Decode(&reply); err != nil {
		return "", fmt.Errorf("%s: %w", method, err)
	}
	if reply.Error != nil {
		return "", fmt.Errorf("%s %s: %s", method, strings.Join(args, " "), strings.TrimSpace(*reply.Error))
	}
	if reply.Result == nil {
		return "", nil
	}
	return *reply.Result, nil
}
