package daemon

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// maxStaged bounds the text of all connections that waits for its command, in bytes.
const maxStaged = 1 << 30

// stage keeps texts that are too long for one message until the command comes that they are for. Each connection has its own; it goes with
// the connection.
type stage struct {
	mu    sync.Mutex
	texts map[context.Context]*staged
	total int
}

type staged struct {
	strings.Builder
	keep func() bool // nothing is done any more when the connection ends
}

// add appends a piece. ctx is the connection's.
func (s *stage) add(ctx context.Context, piece string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total+len(piece) > maxStaged {
		return fmt.Errorf("ofctl/stage: more than %d bytes wait for their commands", maxStaged)
	}
	b := s.texts[ctx]
	if b == nil {
		if s.texts == nil {
			s.texts = map[context.Context]*staged{}
		}
		b = &staged{keep: context.AfterFunc(ctx, func() { s.take(ctx) })}
		s.texts[ctx] = b
	}
	s.total += len(piece)
	b.WriteString(piece)
	return nil
}

// take returns what was added and forgets it.
func (s *stage) take(ctx context.Context) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.texts[ctx]
	if b == nil {
		return ""
	}
	b.keep()
	delete(s.texts, ctx)
	s.total -= b.Len()
	return b.String()
}
