package tap

import (
	"errors"
	"runtime"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/link"
	"github.com/gvswitch/gvswitch/netdev/ready"
)

// maxTx is how many tx queues a port has at most: they spare threads the wait for
// each other.
const maxTx = 8

// queues is an open tap with what poll threads use of it. It is made and taken
// away as a whole.
type queues struct {
	file *file
	word *ready.Word
	room []byte
	rxs  []netdev.RxQueue
	txs  []netdev.TxQueue
}

// openQueues opens the tap and makes its queues.
func openQueues(ns *link.Namespace, name string, g *gate) (*queues, error) {
	f, err := openFile(ns, name)
	if err != nil {
		return nil, err
	}
	q := &queues{file: f}
	if q.word, err = ready.Watch(f.fd); err != nil {
		return nil, errors.Join(err, q.close())
	}
	if q.room, err = mem.Alloc(tailRoom); err != nil {
		return nil, errors.Join(err, q.close())
	}
	q.rxs = []netdev.RxQueue{&rxQueue{fd: f.fd, word: q.word, tails: q.room}}
	for range min(runtime.NumCPU(), maxTx) {
		q.txs = append(q.txs, &txQueue{fd: f.fd, gate: g})
	}
	return q, nil
}

// close takes them away; no poll thread uses them any more.
func (q *queues) close() error {
	var errs []error
	if q.word != nil {
		ready.Unwatch(q.word)
	}
	if q.room != nil {
		errs = append(errs, mem.Free(q.room))
	}
	return errors.Join(append(errs, q.file.close())...)
}
