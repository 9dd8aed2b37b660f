package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// blocks reads the blocks of a pcapng file in little-endian order.
type blocks struct {
	r    *bufio.Reader
	body []byte
}

func newBlocks(r io.Reader) *blocks { return &blocks{r: bufio.NewReaderSize(r, 1<<20)} }

// next is the next block, valid until the one after; io.EOF where the file ends between blocks.
func (b *blocks) next() (kind uint32, body []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(b.r, head[:]); err != nil {
		return 0, nil, err
	}
	le := binary.LittleEndian
	n := le.Uint32(head[4:])
	if n < 12 || n%4 != 0 || n > 1<<24 {
		return 0, nil, fmt.Errorf("pcapng block of %d bytes", n)
	}
	if int(n) > cap(b.body) {
		b.body = make([]byte, n)
	}
	b.body = b.body[:n-8]
	if _, err := io.ReadFull(b.r, b.body); err != nil {
		return 0, nil, fmt.Errorf("the last block is cut off: %w", err)
	}
	return le.Uint32(head[:]), b.body[:n-12], nil
}
