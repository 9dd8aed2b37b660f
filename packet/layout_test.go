package packet

import (
	"reflect"
	"testing"
)

func TestCacheLayout(t *testing.T) {
	typ := reflect.TypeFor[Packet]()
	off := func(name string) uintptr {
		f, _ := typ.FieldByName(name)
		return f.Offset
	}
	if n := typ.Size(); n%64 != 0 || n/64%2 == 0 {
		t.Errorf("a packet is %d bytes, not an odd number of cache lines", n)
	}
	if off("segs") != 32 || (off("buf")+Headroom)%64 != 0 {
		t.Errorf("segments at %d, frame at %d", off("segs"), off("buf")+Headroom)
	}
	if b := new(Burst); b.Pkts[0].Off != 0 {
		t.Error("a new burst is not zero")
	}
}
