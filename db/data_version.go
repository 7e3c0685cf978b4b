package db

import (
	"context"
	"sync"
)

// dataVersion tells whether the file has changed, whoever changed it.
type dataVersion struct {
	mutex  sync.Mutex
	closed bool
	watch  *Watch
	count  int64
}

// DataVersion is a number that grows with every commit to the file, by this
// process or another: what was read while it stood at a number is still so
// while it does. It costs a few microseconds.
func (d *DB) DataVersion(ctx context.Context) (int64, error) {
	g := &d.dataVersion
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.closed {
		return 0, errClosed
	}
	if g.watch == nil {
		var err error
		if g.watch, err = d.Watch(context.WithoutCancel(ctx)); err != nil {
			return 0, err
		}
		g.count++
	}
	moved, err := g.watch.Moved()
	if err != nil {
		g.watch.Close()
		g.watch = nil
		return 0, err
	}
	if moved {
		g.count++
	}
	return g.count, nil
}

func (g *dataVersion) close() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.closed = true
	if g.watch != nil {
		g.watch.Close()
		g.watch = nil
	}
}
