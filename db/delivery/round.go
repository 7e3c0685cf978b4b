// Package delivery holds the deliveries of events to webhook receivers: the rounds of
// the delivery loop, the log of attempts, and dead letters. Package db writes the
// events into the outbox; see db.Tx.Enqueue.
package delivery

import (
	"context"
	"time"

	"govsvc/db"
)

// Round is one transaction of the delivery loop. It stores the results of attempts, makes
// the deliveries of unexpanded events and claims due deliveries, in this order.
type Round struct {
	Settled []Settlement
	// Expand asks for the deliveries of unexpanded events.
	Expand bool
	// LastOrg is RoundResult.LastOrg of the round before, 0 in the first one. The
	// next organisation is served first.
	LastOrg int64
	// Claims chooses what to claim. Its argument is the subscriptions with deliveries that
	// this round made. It may be called more than once. Nil claims nothing.
	Claims func(fresh []int64) []Claim
	// Lease is the duration of a claim.
	Lease time.Duration
}

// RoundResult is the result of a round. A round ends early if other writers wait. Each of
// its three parts does some work in any case.
type RoundResult struct {
	Settled int        // how many settlements were stored, starting with the first
	Claims  []Claim    // those that were carried out
	Claimed []Delivery // in the order of their events within a subscription
	Dropped int        // deliveries that left a full queue as dead letters
	// More reports that the round ended before its work was done.
	More bool
	// Contended reports that a caller waited for the writer.
	Contended bool
	// Unexpanded reports that events still wait for their deliveries.
	Unexpanded bool
	// LastOrg is the organisation whose events were expanded last.
	LastOrg int64
}

// roundShare bounds one part of a round by the time since the round began. The part ends
// after max in any case, and after min if a caller waits for the writer.
type roundShare struct{ min, max time.Duration }

var (
	settleShare = roundShare{500 * time.Microsecond, 3 * time.Millisecond}
	expandShare = roundShare{1000 * time.Microsecond, 6 * time.Millisecond}
	claimShare  = roundShare{1500 * time.Microsecond, 8 * time.Millisecond}
)

// RunRound runs a transaction of the delivery loop. No other process can claim a claimed
// delivery before its lease ends. It claims the deliveries of a subscription in the order
// in which they were due.
func RunRound(ctx context.Context, store *db.DB, r Round) (RoundResult, error) {
	var result RoundResult
	err := store.Maintain(ctx, func(tx *db.Tx) error {
		result = RoundResult{LastOrg: r.LastOrg}
		began := time.Now() // by the clock of the machine, not of the store
		spent := func(of roundShare) func() bool {
			return func() bool {
				passed := time.Since(began)
				if passed < of.min {
					return false
				}
				waits := tx.Contended()
				result.Contended = result.Contended || waits
				return waits || passed >= of.max
			}
		}
		if err := settleSome(tx, r.Settled, &result, spent(settleShare)); err != nil {
			return err
		}
		var fresh []int64
		if r.Expand {
			x, err := expand(tx, r.LastOrg, spent(expandShare))
			if err != nil {
				return err
			}
			fresh, result.Dropped, result.Unexpanded, result.LastOrg = x.fresh, x.dropped, x.more, x.org
			result.More = result.More || x.more
			if _, err := removeFormerSets(tx); err != nil {
				return err
			}
		}
		if r.Claims == nil {
			return nil
		}
		return claimSome(tx, r.Claims(fresh), tx.Now().Add(r.Lease), &result, spent(claimShare))
	})
	return result, err
}

func settleSome(tx *db.Tx, settled []Settlement, result *RoundResult, spent func() bool) error {
	for _, s := range settled {
		if err := settle(tx, s); err != nil {
			return err
		}
		if result.Settled++; spent() {
			break
		}
	}
	result.More = result.Settled < len(settled)
	return nil
}

func claimSome(tx *db.Tx, claims []Claim, until time.Time, result *RoundResult, spent func() bool) error {
	for i, c := range claims {
		claimed, err := claim(tx, c, until)
		if err != nil {
			return err
		}
		result.Claims, result.Claimed = claims[:i+1], append(result.Claimed, claimed...)
		if spent() {
			break
		}
	}
	result.More = result.More || len(result.Claims) < len(claims)
	return nil
}

// SettleAndClaim ends claims and makes new ones, in as many rounds as are needed.
func SettleAndClaim(ctx context.Context, store *db.DB, settled []Settlement, claims []Claim, lease time.Duration) ([]Delivery, error) {
	var claimed []Delivery
	for {
		result, err := RunRound(ctx, store, Round{Settled: settled, Claims: func([]int64) []Claim { return claims }, Lease: lease})
		if err != nil {
			return claimed, err
		}
		claimed = append(claimed, result.Claimed...)
		settled, claims = settled[result.Settled:], claims[len(result.Claims):]
		if len(settled)+len(claims) == 0 {
			return claimed, nil
		}
	}
}
