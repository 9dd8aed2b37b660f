package jsonrpc

import "sync"

// outQueue holds the messages that wait to be written. put never blocks; a
// queue that is over its limit refuses.
type outQueue struct {
	limit int

	mu     sync.Mutex
	cond   *sync.Cond
	bufs   [][]byte
	queued int // bytes in bufs and in the write under way
	closed bool
	idle   chan struct{} // closed when queued reaches 0; nil while nobody waits
}

func (q *outQueue) init(limit int) {
	q.limit = limit
	q.cond = sync.NewCond(&q.mu)
}

// put appends a message. One message may exceed the limit by itself (a large
// snapshot), a second behind it may not.
func (q *outQueue) put(b []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ErrClosed
	}
	if q.queued > q.limit {
		return ErrSlowPeer
	}
	q.bufs = append(q.bufs, b)
	q.queued += len(b)
	q.cond.Signal()
	return nil
}

// take waits for messages and returns all there are, or nil when closed.
func (q *outQueue) take() [][]byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.bufs) == 0 && !q.closed {
		q.cond.Wait()
	}
	if q.closed {
		return nil
	}
	bufs := q.bufs
	q.bufs = nil
	return bufs
}

// wrote records that n taken bytes are with the stream.
func (q *outQueue) wrote(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queued -= n
	if q.queued == 0 && q.idle != nil {
		close(q.idle)
		q.idle = nil
	}
}

// drained returns a channel that is closed when nothing waits.
func (q *outQueue) drained() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queued == 0 {
		ch := make(chan struct{})
		close(ch)
		return ch
	}
	if q.idle == nil {
		q.idle = make(chan struct{})
	}
	return q.idle
}

func (q *outQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.bufs = nil
	q.cond.Broadcast()
}

// writeLoop gives the queued messages to the stream until the connection ends.
func (c *Conn) writeLoop() {
	for bufs := c.out.take(); bufs != nil; bufs = c.out.take() {
		for _, b := range bufs {
			if _, err := c.rw.Write(b); err != nil {
				c.shutdown(err)
				return
			}
			c.out.wrote(len(b))
		}
	}
}
