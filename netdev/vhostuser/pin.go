package vhostuser

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

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

	// What front ends before this one were offered, until it agrees on features: see widen.
	Before      uint64 `json:"before,omitempty"`
	BeforePairs int    `json:"before_pairs,omitempty"`
}

// ackedEvery is how often a change of what is acknowledged is written.
const ackedEvery = time.Second

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
		next.Before, next.BeforePairs = d.pin.Before, d.pin.BeforePairs
		if id == "" {
			next.FrontEnd = d.pin.FrontEnd
		}
	} else {
		next.Before = d.pin.Before | d.pin.Offered
		next.BeforePairs = max(d.pin.BeforePairs, d.pin.Pairs)
	}
	if d.refusal.stubborn(id) {
		next.widen()
	}
	return next
}

// widen is the last resort for a front end that has refused what it was offered, time and again: it may be
// the one before, which just looks like another one. It is offered what that one was, and nothing else: what the
// operator does not want, nobody gets by asking often.
func (p *pin) widen() {
	// Whoever takes ACCESS_PLATFORM without an IOMMU is lost.
	p.Offered |= closed(p.Before &^ virtio.FAccessPlatform)
	p.Pairs = max(p.Pairs, min(p.BeforePairs, maxControlledPairs))
}

// agree is for a front end that has agreed on features: it is the one that the pin is about.
func (p *pin) agree(features uint64) {
	p.Acked = features &^ virtio.VhostFLogAll // which comes and goes with migration
	p.Before, p.BeforePairs = 0, 0
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
	return filepath.Join(dir, "vhost-user", fmt.Sprintf("%.16x.json", sha256.Sum256([]byte(socket))))
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
	if err == nil && (p.Socket != socket || min(p.Pairs, p.BeforePairs) < 0 || max(p.Pairs, p.BeforePairs) > vhostuser.MaxQueuePairs) {
		err = fmt.Errorf("%s: is not about socket %s", file, socket)
	}
	if err != nil {
		return pin{}, err
	}
	p.Offered &= possibleFeatures // what a newer version served, this one cannot
	p.Before &= possibleFeatures
	return p, nil
}

// savePin writes the pin, if it is not what the file has. It is called before the offer can be used. What
// the guest makes of it changes as often as the guest likes, and nothing depends on it: it is written once in a
// while.
func (d *Device) savePin() { d.writePin(false) }

func (d *Device) writePin(all bool) {
	d.pinWrite.Lock()
	defer d.pinWrite.Unlock()
	d.mu.Lock()
	p, file, saved := d.pin, d.pinFile, d.pinSaved
	d.mu.Unlock()
	if p == saved || file == "" {
		return
	}
	offer := p
	offer.Acked, offer.Before, offer.BeforePairs = saved.Acked, saved.Before, saved.BeforePairs
	if offer == saved {
		if now := time.Now(); all || now.Sub(d.pinAcked) >= ackedEvery {
			d.pinAcked = now
		} else {
			return
		}
	}
	b, err := json.MarshalIndent(&struct {
		pin
		// For people who look at the file.
		OfferedNames string `json:"offered_names"`
		AckedNames   string `json:"acked_names"`
	}{p, featureNames(p.Offered), featureNames(p.Acked)}, "", "  ")
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

// refusals is after how many of them a front end is offered more.
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
