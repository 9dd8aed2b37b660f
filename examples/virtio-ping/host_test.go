package main

import (
	"fmt"
	"testing"
	"time"
)

// Two hosts find each other and answer each other's pings.
func TestPing(t *testing.T) {
	a := &host{mac: [6]byte{2, 1}, ip: [4]byte{10, 0, 0, 1}, target: [4]byte{10, 0, 0, 2}}
	b := &host{mac: [6]byte{2, 2}, ip: [4]byte{10, 0, 0, 2}}
	other := &host{mac: [6]byte{2, 3}, ip: [4]byte{10, 0, 0, 3}}
	now := time.Now()
	if a.unanswered() != "" {
		t.Error("no answer to nothing")
	}
	ask := a.ask(now)
	if a.unanswered() != "no answer: nobody has the address" {
		t.Error(a.unanswered())
	}
	if other.answer(ask) != nil {
		t.Error("somebody else answers")
	}
	if _, ok := a.answered(b.answer(ask), now); ok || !a.known || a.peer != b.mac {
		t.Fatalf("after ARP: %+v", a)
	}
	for i := range 3 {
		request := a.ask(now)
		if checksum(request[14:34]) != 0 || checksum(request[icmpOff:]) != 0 {
			t.Error("a request's checksums are wrong")
		}
		if got, want := a.unanswered(), fmt.Sprint("no answer to ping ", i+1); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		reply := b.answer(request)
		if reply == nil || checksum(reply[icmpOff:]) != 0 {
			t.Fatalf("reply %x", reply)
		}
		if rtt, ok := a.answered(reply, now.Add(time.Millisecond)); !ok || rtt != time.Millisecond {
			t.Errorf("%d: %v, %v", i, rtt, ok)
		}
		if why := a.unanswered(); why != "" {
			t.Error(why)
		}
	}
	for n := range a.ask(now) {
		b.answer(a.ask(now)[:n]) // must not panic
	}
}
