package transfer

import "context"

// batchSize is how many records a batch has.
const batchSize = 128

// prefetch calls each with every entry of read. At the same time a goroutine reads the
// next ones.
func prefetch(ctx context.Context, read func(context.Context, func(*entry) error) error, each func(*entry) error) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	batches, ended := make(chan []entry, 2), make(chan error, 1)
	go func() {
		defer close(batches)
		ended <- readBatches(ctx, read, batches)
	}()
	defer func() {
		cancel()
		for range batches { //nolint:revive // lets the goroutine end before the sources are closed
		}
		if stopped := <-ended; err == nil {
			err = stopped
		}
	}()
	for batch := range batches {
		for i := range batch {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := each(&batch[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func readBatches(ctx context.Context, read func(context.Context, func(*entry) error) error, batches chan<- []entry) error {
	var batch []entry
	send := func() error {
		select {
		case batches <- batch:
			batch = nil
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := read(ctx, func(e *entry) error {
		if batch == nil {
			batch = make([]entry, 0, batchSize)
		}
		batch = append(batch, *e)
		batch[len(batch)-1].text = nil // valid during the call only
		if len(batch) < batchSize {
			return nil
		}
		return send()
	})
	if err != nil || batch == nil {
		return err
	}
	return send()
}
