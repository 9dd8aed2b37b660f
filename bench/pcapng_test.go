package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// block is a pcapng block around a body.
func block(kind uint32, body ...byte) []byte {
	le := binary.LittleEndian
	n := uint32(12 + len(body))
	b := le.AppendUint32(le.AppendUint32(nil, kind), n)
	return le.AppendUint32(append(b, body...), n)
}

// What is in a file and what its statistics say was missed are counted; a later block of an interface replaces the one before.
func TestReadCapture(t *testing.T) {
	stats := func(iface, missed byte) []byte {
		return block(5, append([]byte{iface, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 4, 0, 8, 0, 9, 0, 0, 0, 0, 0, 0, 0, 5, 0, 8, 0, missed, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)...)
	}
	file := block(0x0a0d0d0a, make([]byte, 16)...)
	file = append(file, block(6, make([]byte, 20)...)...)
	file = append(file, stats(0, 3)...)
	file = append(file, block(6, make([]byte, 24)...)...)
	file = append(file, stats(0, 7)...)
	file = append(file, stats(1, 1)...)
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	if packets, missed, err := readCapture(path); packets != 2 || missed != 8 || err != nil {
		t.Errorf("%v packets, %v missed, %v", packets, missed, err)
	}
	if err := os.WriteFile(path, file[:len(file)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readCapture(path); err == nil {
		t.Error("a file that is cut off is not an error")
	}
}
