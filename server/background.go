package server

import (
	"context"
	"errors"
	"time"

	"govsvc/db"
	"govsvc/server/limit"
)

// flushEvery is how often counts of requests are stored: what a kill may lose.
const flushEvery = 5 * time.Second

// indexEvery is how often the search index takes up what was written.
const indexEvery = time.Second

// sweepEvery is how often answers that are no longer replayed, and sessions that
// have ended, are removed.
const sweepEvery = 10 * time.Minute

// What bounds the log that SQLite keeps beside the file. Where readers overlap
// without a gap it would grow for ever: emptying it makes writers wait for the
// readers under way, but not for long. A reader that stays, a backup say, is
// given time.
const (
	walLimit           = 64 << 20
	checkpointInterval = 30 * time.Second
)

// day is the span of the rolling cap.
const day = 24 * time.Hour

// Run does the server's work between requests until ctx ends: it stores what
// the limiter counted and when keys were used, a last time at the end, and
// removes idempotent answers and sessions whose time is over, keeps the log
// beside the file bounded, and gives free space back to the disk.
func (s *Server) Run(ctx context.Context) error {
	tick, sweep := time.NewTicker(flushEvery), time.NewTicker(sweepEvery)
	defer tick.Stop()
	defer sweep.Stop()
	patient := s.limitWAL(ctx, time.Time{}) // until when the log is left alone
	indexed := make(chan struct{})
	go func() {
		defer close(indexed)
		s.updateIndex(ctx)
	}()
	defer func() { <-indexed }() // the file is closed once Run has returned
	s.sweep(ctx)
	for {
		select {
		case <-sweep.C:
			s.sweep(ctx)
		case <-tick.C:
			patient = s.limitWAL(ctx, patient)
			if err := s.flush(ctx); err != nil {
				s.Logger.Warn("counts of requests not stored yet", "error", err)
			}
		case <-ctx.Done():
			return s.flush(context.WithoutCancel(ctx))
		}
	}
}

// updateIndex keeps the search index up to date until ctx ends. A search reads the
// records that the index lacks.
func (s *Server) updateIndex(ctx context.Context) {
	tick := time.NewTicker(indexEvery)
	defer tick.Stop()
	reported := false
	for {
		err := s.Store.UpdateSearchIndex(ctx)
		switch {
		case err == nil:
			reported = false
		case ctx.Err() == nil && !reported:
			reported = true
			s.Logger.Warn("the search index is behind; searches take longer", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Server) sweep(ctx context.Context) {
	if err := s.Store.SweepAnswers(ctx); err != nil && ctx.Err() == nil {
		s.Logger.Warn("old idempotent answers not removed yet", "error", err)
	}
	if s.Sessions != nil {
		if err := s.Sessions.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.Logger.Warn("ended sessions not removed yet", "error", err)
		}
	}
	if err := s.Store.SweepEvidence(ctx); err != nil && ctx.Err() == nil {
		s.Logger.Warn("what unfinished evidence packs left is not removed yet", "error", err)
	}
	if _, err := s.Store.GiveBack(ctx); err != nil && ctx.Err() == nil {
		s.Logger.Warn("free space not given back to the disk yet", "error", err)
	}
}

// limitWAL empties the log beside the file if it has grown, and tells until when
// it is to be left alone.
func (s *Server) limitWAL(ctx context.Context, patient time.Time) time.Time {
	now := time.Now()
	if s.Store.LogSize() <= walLimit || now.Before(patient) {
		return patient
	}
	if err := s.Store.Checkpoint(ctx); err != nil && ctx.Err() == nil {
		s.Logger.Warn("the log beside the data file not emptied yet", "error", err)
	}
	return now.Add(checkpointInterval)
}

func (s *Server) flush(ctx context.Context) error {
	var problems []error
	if counts := s.keys.Unsaved(); len(counts) > 0 {
		rows := make([]db.RequestCount, len(counts))
		for i, c := range counts {
			rows[i] = db.RequestCount(c)
		}
		if err := s.Store.AddRequestCounts(ctx, rows, s.dayStart()); err != nil {
			s.keys.Restore(counts)
			problems = append(problems, err)
		}
	}
	if uses := s.verifier.takeUses(); len(uses) > 0 {
		if err := s.Store.UsedKeys(ctx, uses); err != nil {
			s.verifier.restoreUses(uses)
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// dayStart is the start of the oldest slot that can still count.
func (s *Server) dayStart() int64 { return s.Store.Now().Add(-day - time.Hour).Unix() }

func (s *Server) loadCounts(ctx context.Context) error {
	rows, err := s.Store.RequestCounts(ctx, s.dayStart())
	if err != nil {
		return err
	}
	counts := make([]limit.Count, len(rows))
	for i, row := range rows {
		counts[i] = limit.Count(row)
	}
	s.keys.Load(counts)
	return nil
}
