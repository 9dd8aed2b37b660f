package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/test/guest"
)

// A guest migrates by postcopy: it runs at the new place before its memory is there, and the switch
// serves it as pages come.
func TestPostcopyMigration(t *testing.T) {
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	m := &mover{t: t, places: []string{s.AddVhost("vu0", "options:vhost-postcopy-support=true"), s.AddVhost("vu1", "options:vhost-postcopy-support=true")}}
	b := bootGuest(t, "b", 2, guest.Config{Kind: guest.UML, Socket: s.AddVhost("vu2")})
	a := m.start(guest.Config{Postcopy: true})
	pingAll(t, a, b)
	for range 2 {
		how := m.move()
		t.Logf("%v, of which the guest stood still for %v", how.Total, how.Downtime)
		a.host = m.guest
		reachable(context.Background(), t, b, a, 20*time.Second)
		pingAll(t, a, b)
	}
	if err := want(s.Log(), "guest arrives by postcopy", "guest has arrived"); err != nil {
		t.Error(err)
	}
}
