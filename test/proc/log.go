package proc

import (
	"bytes"
	"sync"
)

// maxLog bounds what is kept of a talkative process: the first and the last
// half of it.
const maxLog = 256 << 10

// Log keeps what a process prints. The zero value is empty and ready to use.
type Log struct {
	mu   sync.Mutex
	head bytes.Buffer
	tail bytes.Buffer
}

// Write never fails.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.head.Len() < maxLog/2 {
		l.head.Write(p)
		return len(p), nil
	}
	l.tail.Write(p)
	if l.tail.Len() > maxLog {
		l.tail.Next(l.tail.Len() - maxLog/2)
	}
	return len(p), nil
}

// String is the text so far; a gap in a long one is not marked.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head.String() + l.tail.String()
}
