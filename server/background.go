package server

import (
	"context"
	"errors"
	"time"

	"govsvc/db"
	"govsvc/server/limit"
)

// flushEvery is how often counts of requests are stored. A kill can lose the
// counts since then.
const flushEvery = 5 * time.Second

// indexEvery is how often the search index is updated.
const indexEvery = time.Second

// sweepEvery is how often expired rows are removed.
const sweepEvery = 10 * time.Minute

// Limits on the write-ahead log. It grows without end while reads overlap without
// a gap. A forced checkpoint makes writers wait for the reads in progress, so
// there is an interval between two, for a long read such as a backup.
const (
	walLimit           = 64 << 20
	checkpointInterval = 30 * time.Second
)

// day is the period of the daily limit.
const day = 24 * time.Hour

// Run does the background work until ctx ends. It stores the counts of the limiter
// and the uses of keys, a last time at the end. It removes expired responses and
// sessions, updates the search index, limits the write-ahead log and returns
// free space to the disk.
func (s *Server) Run(ctx context.Context) error {
	tick, sweep := time.NewTicker(flushEvery), time.NewTicker(sweepEvery)
	defer tick.Stop()
	defer sweep.Stop()
	nextCheckpoint := s.limitWAL(ctx, time.Time{})
	indexed := make(chan struct{})
	go func() {
		defer close(indexed)
		s.updateIndex(ctx)
	}()
	defer func() { <-indexed }() // the caller closes the file after Run
	s.sweep(ctx)
	for {
		select {
		case <-sweep.C:
			s.sweep(ctx)
		case <-tick.C:
			nextCheckpoint = s.limitWAL(ctx, nextCheckpoint)
			if err := s.flush(ctx); err != nil {
				s.Logger.Warn("storing counts of requests failed; it is tried again", "error", err)
			}
		case <-ctx.Done():
			return s.flush(context.WithoutCancel(ctx))
		}
	}
}

// updateIndex updates the search index until ctx ends. Searches scan the records
// that it lacks.
func (s *Server) updateIndex(ctx context.Context) {
	tick := time.NewTicker(indexEvery)
	defer tick.Stop()
	reported := false
	for {
		err := s.Store.SearchIndex.Update(ctx)
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
	if err := s.Store.Idempotency.Sweep(ctx); err != nil && ctx.Err() == nil {
		s.Logger.Warn("removing expired idempotent responses failed; it is tried again", "error", err)
	}
	if s.Sessions != nil {
		if err := s.Sessions.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.Logger.Warn("removing expired sessions failed; it is tried again", "error", err)
		}
	}
	if err := s.Store.SweepUploads(ctx); err != nil && ctx.Err() == nil {
		s.Logger.Warn("removing unfinished uploads failed; it is tried again", "error", err)
	}
	if _, err := s.Store.File.ReleaseFreeSpace(ctx); err != nil && ctx.Err() == nil {
		s.Logger.Warn("returning free space to the disk failed; it is tried again", "error", err)
	}
}

// limitWAL checkpoints a write-ahead log over its limit, not before next. It
// returns the earliest time of the next checkpoint.
func (s *Server) limitWAL(ctx context.Context, next time.Time) time.Time {
	now := time.Now()
	if s.Store.File.LogSize() <= walLimit || now.Before(next) {
		return next
	}
	if err := s.Store.File.Checkpoint(ctx); err != nil && ctx.Err() == nil {
		s.Logger.Warn("the checkpoint of the write-ahead log failed; it is tried again", "error", err)
	}
	return now.Add(checkpointInterval)
}

// flush stores the counts of the limiter and the uses of keys.
func (s *Server) flush(ctx context.Context) error {
	var problems []error
	if counts := s.keys.Unsaved(); len(counts) > 0 {
		rows := make([]db.RequestCount, len(counts))
		for i, c := range counts {
			rows[i] = db.RequestCount(c)
		}
		if err := s.Store.Usage.AddRequestCounts(ctx, rows, s.dayStart()); err != nil {
			s.keys.Restore(counts)
			problems = append(problems, err)
		}
	}
	if uses := s.verifier.takeUses(); len(uses) > 0 {
		if err := s.Store.Usage.RecordKeyUses(ctx, uses); err != nil {
			s.verifier.restoreUses(uses)
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// dayStart returns the start of the oldest slot that still counts, in Unix
// seconds.
func (s *Server) dayStart() int64 { return s.Store.Now().Add(-day - time.Hour).Unix() }

func (s *Server) loadCounts(ctx context.Context) error {
	rows, err := s.Store.Usage.RequestCounts(ctx, s.dayStart())
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
