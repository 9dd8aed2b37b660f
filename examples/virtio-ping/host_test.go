package main

import (
	"testing"
	"time"
)

// Two hosts find each other and answer each other's pings.
func TestPing(t *testing.T) {
	a := &host{mac: [6]byte{2, 1}, ip: [4]byte{10, 0, 0, 1}, target: [4]byte{10, 0, 0, 2}}
	b := &host{mac: [6]byte{2, 2}, ip: [4]byte{10, 0, 0, 2}}
	other := &host{mac: [6]byte{2, 3}, ip: [4]byte{10, 0, 0, 3}}
	now := time.Now()
	ask := a.ask(now)
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
		reply := b.answer(request)
		if reply == nil || checksum(reply[icmpOff:]) != 0 {
			t.Fatalf("reply %x", reply)
		}
		if rtt, ok := a.answered(reply, now.Add(time.Millisecond)); !ok || rtt != time.Millisecond {
			t.Errorf("%d: %v, %v", i, rtt, ok)
		}
	}
	for n := range a.ask(now) {
		b.answer(a.ask(now)[:n]) // must not panic
	}
}
