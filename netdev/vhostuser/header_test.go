package vhostuser

import (
	"bytes"
	"testing"

	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/internal/virtio/virtiotest"
	"github.com/gvswitch/gvswitch/packet"
)

// What a header asks for arrives in whatever layout it comes, frame by frame: nothing of an earlier
// one stays in a buffer, whose header is written only where it changes.
func TestHeaders(t *testing.T) {
	const offloads = virtio.NetFCsum | virtio.NetFGuestCsum
	asks := virtiotest.Hdr{Flags: 1, CsumStart: 34, CsumOffset: 16}
	eachKind(t, func(t *testing.T, kind uint64) {
		for _, features := range []uint64{virtio.FVersion1 | virtio.NetFMrgRxbuf, virtio.FVersion1, 0} {
			hdr := virtio.NetHdrLen(features)
			for _, rxCuts := range [][]int{nil, {hdr}, {6}, {hdr, 60}} {
				for _, negotiated := range []bool{true, false} {
					f := features | kind | virtio.FIndirectDesc
					if negotiated {
						f |= offloads
					}
					n := newNIC(t, 16, f, 2048, rxCuts)
					for i := range 100 {
						h, frame := virtiotest.Hdr{}, randomFrame(60+i)
						if i%3 == 0 {
							h = asks
						}
						s := []virtiotest.Shape{{}, {Cuts: []int{hdr}}, {Cuts: []int{hdr}, Indirect: true}, {Cuts: []int{3, 9, 40}}}[i%4]
						if !n.Send(h, frame, s) {
							t.Fatal("no room to send")
						}
						n.loop()
						got, err := n.Recv()
						if err != nil || got == nil || !bytes.Equal(got.Data, frame) {
							t.Fatalf("features %#x, frame %d: %v, %v", f, i, got, err)
						}
						n.Fill()
						want := virtiotest.Hdr{}
						if negotiated {
							want = h
						}
						if hdr == 12 {
							want.NumBuffers = 1
						}
						if got.Hdr != want {
							t.Fatalf("features %#x, receive buffers cut at %v, %+v: header %+v, want %+v", f, rxCuts, s, got.Hdr, want)
						}
					}
				}
			}
		}
	})
}

// A legacy header that has a descriptor for itself ends there: what is behind it is not the device's.
func TestLegacyHeaderAlone(t *testing.T) {
	n := newNIC(t, 16, 0, 2048, nil)
	n.restart(t, 0, 0)
	at := uint64(memBase + memSize - 4096)
	n.RX.Mem.Write(at, bytes.Repeat([]byte{0xee}, 64))
	n.RX.Add(virtiotest.Elem{Addr: at, Len: 10, Write: true}, virtiotest.Elem{Addr: at + 1024, Len: 2000, Write: true})
	n.RX.Publish()
	n.Queue(virtiotest.Hdr{}, randomFrame(packet.MinFrame), virtiotest.Shape{})
	n.TX.Publish()
	n.loop()
	if got := n.RX.Mem.Read(at, 12); !bytes.Equal(got, append(make([]byte, 10), 0xee, 0xee)) {
		t.Errorf("header %x", got)
	}
}
