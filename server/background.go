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

// sweepEvery is how often answers that are no longer replayed, and sessions that
// have ended, are removed.
const sweepEvery = 10 * time.Minute

// day is the span of the rolling cap.
const day = 24 * time.Hour

// Run does the server's work between requests until ctx ends: it stores what
// the limiter counted and when keys were used, a last time at the end, and
// removes idempotent answers and sessions whose time is over.
func (s *Server) Run(ctx context.Context) error {
	tick, sweep := time.NewTicker(flushEvery), time.NewTicker(sweepEvery)
	defer tick.Stop()
	defer sweep.Stop()
	s.sweep(ctx)
	for {
		select {
		case <-sweep.C:
			s.sweep(ctx)
		case <-tick.C:
			if err := s.flush(ctx); err != nil {
				s.Logger.Warn("counts of requests not stored yet", "error", err)
			}
		case <-ctx.Done():
			return s.flush(context.WithoutCancel(ctx))
		}
	}
}

func (s *Server) sweep(ctx context.Context) {
	if err := s.Store.SweepAnswers(ctx); err != nil && ctx.Err() == nil {
		s.Logger.Warn("old idempotent answers not removed yet", "error", err)
	}
	if err := s.Store.SweepSessions(ctx); err != nil && ctx.Err() == nil {
		s.Logger.Warn("ended sessions not removed yet", "error", err)
	}
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
