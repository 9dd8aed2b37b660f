package vhostuser

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzSession sends arbitrary messages. Whatever comes: no panic, at most one
// reply, every descriptor closed once, rings started only with memory mapped
// and open descriptors, and nothing left after Close.
func FuzzSession(f *testing.F) {
	seed := func(msgs ...Message) {
		var b []byte
		for _, m := range msgs {
			b = append(b, byte(m.Request), byte(m.Flags), byte(len(m.Payload)), 0x11)
			b = append(b, m.Payload...)
		}
		f.Add(b)
	}
	table := AppendMemTable(nil, []Region{{Guest: 0, Size: 0x1000, User: 0x1000}})
	seed(
		Message{Request: SetProtocolFeatures, Flags: 1, Payload: AppendU64(nil, ProtocolFeatures)},
		Message{Request: SetFeatures, Flags: 1, Payload: AppendU64(nil, FeatureProtocol|FeatureMQ)},
		Message{Request: SetMemTable, Flags: 9, Payload: table},
		Message{Request: SetVringNum, Flags: 1, Payload: VringState{1, 8}.Append(nil)},
		Message{Request: SetVringAddr, Flags: 1, Payload: VringAddr{Index: 1, Desc: 0x1000, Avail: 0x1100, Used: 0x1200}.Append(nil)},
		Message{Request: SetVringKick, Flags: 1, Payload: AppendU64(nil, 1)},
		Message{Request: SetVringEnable, Flags: 1, Payload: VringState{1, 1}.Append(nil)},
		Message{Request: AddMemReg, Flags: 9, Payload: AppendMemReg(nil, Region{Guest: 0x8000, Size: 0x1000, User: 0x9000})},
		Message{Request: RemMemReg, Flags: 9, Payload: AppendMemReg(nil, Region{Guest: 0, Size: 0x1000, User: 0x1000})},
		Message{Request: GetVringBase, Flags: 1, Payload: VringState{1, 0}.Append(nil)},
		Message{Request: GetConfig, Flags: 1, Payload: ConfigSpace{Data: make([]byte, 12)}.Append(nil)},
		Message{Request: ResetDevice, Flags: 9, Payload: nil},
	)
	f.Fuzz(func(t *testing.T, data []byte) {
		var out strings.Builder
		sc := &script{dev: &recorder{out: &out, channel: -1, open: map[int]string{}, nextAvl: map[int]uint32{}}, next: 100}
		sc.s = NewSession(Offer{FeatureProtocol | FeatureMQ | 1<<32, ProtocolFeatures, 4}, sc.dev)
		for len(data) >= 4 {
			m := Message{Request: Request(data[0]), Flags: uint32(data[1])&^versionMask | Version}
			n := min(int(data[2]), len(data)-4)
			var fds []FD
			for range data[3] & 0xf {
				fds = append(fds, sc.fd([]string{"event", "mem:0x1000", "stream", "other"}[data[3]>>4&3]))
			}
			m.Payload = bytes.Clone(data[4 : 4+n])
			data = data[4+n:]
			reply, has, err := sc.s.Handle(&m, fds)
			if has && (reply.Request != m.Request || reply.Flags != Version|FlagReply) {
				t.Fatalf("reply %+v to %+v", reply, m)
			}
			if err != nil {
				break
			}
		}
		sc.s.Close()
		if len(sc.dev.open) != 0 || sc.dev.channel != -1 {
			t.Errorf("left open: %v", sc.dev.open)
		}
		if i := strings.Index(out.String(), "BUG"); i >= 0 {
			t.Error(out.String()[i:])
		}
	})
}
