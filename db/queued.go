package db

// queued tells the delivery loop of this process that a commit of this process
// made deliveries due. It holds at most one word, and nobody waits to say it.
type queued chan struct{}

func (q queued) tell() {
	select {
	case q <- struct{}{}:
	default:
	}
}

// Queued gives a value after commits through this DB that made deliveries due.
// It serves one delivery loop.
func (d *DB) Queued() <-chan struct{} { return d.queued }

// wakeDeliveries wakes the delivery loop after the commit of a change that made
// deliveries due.
func (tx *Tx) wakeDeliveries() {
	if !tx.woken {
		tx.woken = true
		tx.AfterCommit(tx.db.queued.tell)
	}
}
