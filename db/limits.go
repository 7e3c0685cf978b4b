package db

import "context"

// RequestCount is how many requests a limiter's subject made in a slot of
// time; Slot is its start in Unix seconds.
type RequestCount struct {
	Subject  string
	Slot     int64
	Requests int
}

// AddRequestCounts adds to what is stored and forgets slots that started
// before `since`.
func (u Usage) AddRequestCounts(ctx context.Context, counts []RequestCount, since int64) error {
	return u.db.Maintain(ctx, func(tx *Tx) error {
		for _, c := range counts {
			if _, err := tx.Exec(`INSERT INTO limiter_counts (subject, slot, requests) VALUES (?1, ?2, ?3)
				ON CONFLICT (subject, slot) DO UPDATE SET requests = requests + ?3`, c.Subject, c.Slot, c.Requests); err != nil {
				return err
			}
		}
		_, err := tx.Exec("DELETE FROM limiter_counts WHERE slot < ?", since)
		return err
	})
}

// RequestCounts reads the counts of slots that started at or after `since`.
func (u Usage) RequestCounts(ctx context.Context, since int64) ([]RequestCount, error) {
	var counts []RequestCount
	err := u.db.Each(ctx, func(row Scanner) error {
		var c RequestCount
		err := row.Scan(&c.Subject, &c.Slot, &c.Requests)
		counts = append(counts, c)
		return err
	}, "SELECT subject, slot, requests FROM limiter_counts WHERE slot >= ?", since)
	return counts, err
}
