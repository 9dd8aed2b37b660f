package vhostuser

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/virtio"
)

// pin is what a front end was offered, and so insists on: it shows that to its guest
// for as long as it lives, and a switch that offers less to it when it connects anew is of no use to it. A pin
// lasts until another front end comes: options that take something away wait for that.
//
// It is kept in a file for each socket, so that a switch that was restarted or upgraded with other
// options, or another idea of what to offer, goes on with the guests that run.
type pin struct {
	Socket   string `json:"socket"`
	FrontEnd string `json:"front_end"` // see identity; "" is not known
	Offered  uint64 `json:"offered"`
	Acked    uint64 `json:"acked"` // by the guest, the last time; 0 = not yet
	Pairs    int    `json:"pairs"`

	// For people who look at the file.
	OfferedNames string `json:"offered_names"`
	AckedNames   string `json:"acked_names"`
}

// holds tells whether a front end may be the one that the pin is about. When in
// doubt it is.
func (p *pin) holds(id string) bool {
	return p.Offered != 0 && (id == "" || p.FrontEnd == "" || id == p.FrontEnd)
}

// offer is what the front end with this identity is offered now. d.mu is held.
func (d *Device) offer(id string) pin {
	next := pin{Socket: d.set.path, FrontEnd: id, Offered: d.set.wanted(), Pairs: d.set.pairs}
	if d.pin.holds(id) {
		next.Offered |= d.pin.Offered
		next.Pairs = max(next.Pairs, d.pin.Pairs)
		next.Acked = d.pin.Acked
		if id == "" {
			next.FrontEnd = d.pin.FrontEnd
		}
	}
	if d.refusal.stubborn(id) {
		next.widen()
	}
	return next
}

// widen is the last resort for a front end that has refused what it was offered, time and again: its guest
// may have something from a switch that is forgotten. It is offered all that there is.
func (p *pin) widen() {
	// Whoever takes ACCESS_PLATFORM without an IOMMU is lost.
	p.Offered |= closed(possibleFeatures &^ virtio.FAccessPlatform)
	p.Pairs = max(p.Pairs, maxControlledPairs)
}

// terms is the offer as a session has it. d.mu is held.
func (d *Device) terms(p *pin) vhostuser.Offer {
	protocol := vhostuser.ProtocolFeatures
	if d.set.postcopy && p.Offered&virtio.FAccessPlatform == 0 {
		protocol |= vhostuser.ProtoPageFault
	}
	return vhostuser.Offer{Features: p.Offered, Protocol: protocol, QueuePairs: p.Pairs}
}

// keepPin is for a front end that knows what it was offered. One that only connects and leaves, to see
// whether somebody listens, takes nothing from the one that the pin is about. d.mu is held.
func (p *peer) keepPin() {
	if !p.asked {
		p.asked = true
		p.d.pin = p.pin
	}
}

// pinFile is where the pin of a socket is kept, "" if nowhere.
func pinFile(dir, socket string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "vhost-user", fmt.Sprintf("%x.json", sha256.Sum256([]byte(socket)))[:32+len(".json")])
}

// loadPin reads the pin of a socket. A file that cannot be read is as good as none.
func loadPin(file, socket string) (pin, error) {
	var p pin
	b, err := os.ReadFile(file)
	if file == "" || errors.Is(err, fs.ErrNotExist) {
		return pin{}, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err == nil && (p.Socket != socket || p.Pairs < 0 || p.Pairs > vhostuser.MaxQueuePairs) {
		err = fmt.Errorf("%s: is not about socket %s", file, socket)
	}
	if err != nil {
		return pin{}, err
	}
	p.Offered &= possibleFeatures // what a newer version served, this one cannot
	return p, nil
}

// savePin writes the pin, if it is not what the file has. It is called before the offer can be used.
func (d *Device) savePin() {
	d.mu.Lock()
	p, file, same := d.pin, d.pinFile, d.pin == d.pinSaved
	d.mu.Unlock()
	if same || file == "" {
		return
	}
	full := p
	full.OfferedNames, full.AckedNames = featureNames(p.Offered), featureNames(p.Acked)
	b, err := json.MarshalIndent(&full, "", "  ")
	if err == nil {
		err = replaceFile(file, append(b, '\n'))
	}
	if err != nil {
		d.warn("what was offered cannot be kept", err)
		return
	}
	d.mu.Lock()
	d.pinSaved = p
	d.mu.Unlock()
}

// Forget implements netdev.Forgetter: the port was deleted, and one of the same name begins afresh.
func (d *Device) Forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget = true
}

// refusal counts how often the same front end has left without agreeing on features.
type refusal struct {
	by string
	n  int
}

// refusals is after how many of them a front end is offered all that there is.
const refusals = 3

// note counts a connection that has ended.
func (r *refusal) note(id string, refused bool) {
	if !refused || id != r.by {
		*r = refusal{by: id}
	}
	if refused {
		r.n++
	}
}

// stubborn tells whether a front end has refused too often.
func (r *refusal) stubborn(id string) bool { return id != "" && id == r.by && r.n >= refusals }

// replaceFile gives a file a new content, so that after a crash it has the old or the new one.
func replaceFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "new")
	if err != nil {
		return err
	}
	_, err = tmp.Write(content)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
