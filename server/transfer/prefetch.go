package transfer

import (
	"context"
	"sync"
)

// A batch has at most this many records, or the first one that exceeds this many bytes.
const (
	batchRecords = 128
	batchBytes   = 256 << 10
)

// batch is records of the sources that follow each other.
type batch struct {
	entries []entry
	text    []byte        // of the entries
	decoded chan struct{} // has a value after all entries were decoded
}

// add copies an entry and its text.
func (b *batch) add(e *entry) {
	begin := len(b.text)
	b.text = append(b.text, e.text...)
	e.text = b.text[begin:len(b.text):len(b.text)]
	b.entries = append(b.entries, *e)
}

// reset makes room for other entries. It keeps the memory.
func (b *batch) reset() {
	clear(b.entries)
	b.entries, b.text = b.entries[:0], b.text[:0]
}

func (b *batch) full() bool { return len(b.entries) >= batchRecords || len(b.text) >= batchBytes }

// decodeAll reads the sources and calls each with the entries of every batch, in their
// order. At the same time a goroutine reads the next batches, and others call decode with
// each entry of them. The entries are valid during the call.
func decodeAll(ctx context.Context, decoders int, read func(context.Context, *batches) error, decode func(*entry), each func([]entry) error) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	all := newBatches(decoders + 2)
	var ended error
	var group sync.WaitGroup
	group.Go(func() {
		defer close(all.ordered)
		defer close(all.read)
		ended = read(ctx, all)
	})
	for range decoders {
		group.Go(func() {
			for b := range all.read {
				for i := range b.entries {
					decode(&b.entries[i])
				}
				b.decoded <- struct{}{}
			}
		})
	}
	defer func() {
		cancel()
		group.Wait()
		if err == nil {
			err = ended
		}
	}()
	for b := range all.ordered {
		<-b.decoded
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := each(b.entries); err != nil {
			return err
		}
		b.reset()
		all.free <- b
	}
	return nil
}

// batches are the few batches of decodeAll. Each one is in one of three places.
type batches struct {
	free    chan *batch
	read    chan *batch // waiting for a decoder
	ordered chan *batch // in the order of the sources, decoded or not
}

func newBatches(count int) *batches {
	all := &batches{free: make(chan *batch, count), read: make(chan *batch, count), ordered: make(chan *batch, count)}
	for range count {
		all.free <- &batch{decoded: make(chan struct{}, 1)}
	}
	return all
}

// take waits for a free batch.
func (all *batches) take(ctx context.Context) (*batch, error) {
	select {
	case b := <-all.free:
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// send passes a batch on. It does not wait, because the channels hold all batches.
func (all *batches) send(b *batch) {
	all.read <- b
	all.ordered <- b
}
