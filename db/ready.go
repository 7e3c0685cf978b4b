package db

import (
	"context"
	"sync"
	"time"
)

// proof is when a probe last found that the file takes what is written.
type proof struct {
	mutex  sync.Mutex
	at     time.Time // zero: not yet, or the last one failed
	failed uint64    // transactions by then
}

// provenFor is how long a probe that wrote is believed. It ends all pages of
// lists that are kept, as every commit does; those who probe do so every few
// seconds.
const provenFor = 30 * time.Second

// Ready tells whether the file can be read and written now. It waits for either
// no longer than a write would. The lock is taken each time; the disk is written
// to when the last time was half a minute ago, or a write has failed since.
func (d *DB) Ready(ctx context.Context) error {
	var one int
	read, cancel := context.WithTimeout(ctx, d.options.Wait)
	defer cancel()
	if err := d.Row(read, "SELECT 1").Scan(&one); err != nil {
		return storeError(err)
	}
	p := &d.proof
	p.mutex.Lock()
	defer p.mutex.Unlock()
	failed, age := d.WriteStats().Failed, d.now().Sub(p.at)
	proven := failed == p.failed && age >= 0 && age < provenFor
	err := d.Maintain(ctx, func(tx *Tx) error {
		if proven {
			return nil
		}
		// A row comes and goes: an update to what is there already writes no
		// page, and would not notice a full disk.
		if _, err := tx.Exec("INSERT INTO limiter_counts (subject, slot, requests) VALUES ('ready', 0, 0)"); err != nil {
			return err
		}
		_, err := tx.Exec("DELETE FROM limiter_counts WHERE subject = 'ready'")
		return err
	})
	switch {
	case err != nil:
		p.at = time.Time{}
	case !proven:
		p.at, p.failed = d.now(), failed
	}
	return err
}
