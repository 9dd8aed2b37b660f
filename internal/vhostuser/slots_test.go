package vhostuser

import (
	"strings"
	"testing"
)

// As many memory regions as GET_MAX_MEM_SLOTS says can be added, and not one more; what is removed
// makes room again.
func TestMemSlots(t *testing.T) {
	var out strings.Builder
	dev := &recorder{out: &out, open: map[int]string{}, nextAvl: map[int]uint32{}, channel: -1}
	sc := &script{dev: dev, next: 100}
	sc.s = NewSession(Offer{Features: FeatureProtocol, Protocol: ProtocolFeatures, QueuePairs: 1}, dev)
	send := func(r Request, payload []byte, fds ...FD) uint64 {
		t.Helper()
		m := Message{Request: r, Flags: Version | FlagNeedReply, Payload: payload}
		reply, has, err := sc.s.Handle(&m, fds)
		if err != nil || !has || len(reply.Payload) != 8 {
			t.Fatalf("%v: %v, reply %v %x", r, err, has, reply.Payload)
		}
		return le.Uint64(reply.Payload)
	}
	send(SetProtocolFeatures, AppendU64(nil, ProtoReplyAck|ProtoConfigureMemSlots))
	slots := send(GetMaxMemSlots, nil)
	if slots != MaxMemSlots {
		t.Fatalf("%d slots", slots)
	}
	region := func(i uint64) []byte {
		return AppendMemReg(nil, Region{Guest: i << 12, User: i << 12, Size: 1 << 12})
	}
	for i := range slots {
		if send(AddMemReg, region(i), sc.fd("mem:0x1000")) != 0 {
			t.Fatalf("region %d is refused", i)
		}
	}
	if send(AddMemReg, region(slots), sc.fd("mem:0x1000")) == 0 {
		t.Error("one region too many is taken")
	}
	if send(RemMemReg, region(7)) != 0 || send(AddMemReg, region(slots), sc.fd("mem:0x1000")) != 0 {
		t.Error("a slot that is free again cannot be used")
	}
	if n := send(GetMaxMemSlots, nil); n != slots {
		t.Errorf("%d slots, were %d: the number must not change", n, slots)
	}
	sc.s.Close()
	if len(dev.open) != 0 || strings.Contains(out.String(), "BUG") {
		t.Errorf("left open: %v", dev.open)
	}
}
