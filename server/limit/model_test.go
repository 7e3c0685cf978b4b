package limit_test

import (
	"math/big"
	"time"

	"govsvc/internal/testkit"
	"govsvc/server/limit"
)

// model is a simple and slow limiter of one subject: fractions for the bucket and a list of
// all allowed requests for the day.
type model struct {
	wall    time.Time
	time    time.Duration // since the beginning of a minute; it never decreases
	tokens  *big.Rat      // nil without a limit
	rate    int           // a minute, at the last Allow
	at      time.Duration
	allowed []time.Duration
}

func newModel(c *testkit.Clock) *model { return &model{wall: c.Now()} }

// advance reads the clock, like each call of the Limiter.
func (m *model) advance(c *testkit.Clock) {
	m.time += max(0, c.Now().Sub(m.wall))
	m.wall = c.Now()
}

func rat(n, d int64) *big.Rat { return big.NewRat(n, d) }

func least(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

// filled returns the tokens of the bucket, filled at the slower of the last and the given
// rate.
func (m *model) filled(rate int) *big.Rat {
	if rate == 0 {
		return nil
	}
	if m.tokens == nil || m.rate == 0 {
		return rat(int64(rate), 1)
	}
	slower := int64(min(rate, m.rate))
	gain := new(big.Rat).Mul(rat(slower, int64(time.Minute)), rat(int64(m.time-m.at), 1))
	return least(gain.Add(gain, m.tokens), rat(slower, 1))
}

func leaves(at time.Duration) time.Duration {
	return at.Truncate(time.Minute) + time.Minute + 24*time.Hour
}

// after counts the requests that are still in the day after d.
func (m *model) after(d time.Duration) (n int) {
	for _, at := range m.allowed {
		if leaves(at) > m.time+d {
			n++
		}
	}
	return n
}

func (m *model) dayWait(perDay int) time.Duration {
	if perDay == 0 || m.after(0) < perDay {
		return 0
	}
	for _, at := range m.allowed {
		if d := leaves(at) - m.time; d > 0 && m.after(d) < perDay {
			return d
		}
	}
	panic("the day does not end")
}

// until returns the time until there are n tokens, rounded up.
func until(tokens *big.Rat, n, rate int64) time.Duration {
	missing := new(big.Rat).Sub(rat(n, 1), tokens)
	if missing.Sign() <= 0 {
		return 0
	}
	nanos := missing.Mul(missing, rat(int64(time.Minute), rate))
	up := new(big.Int).Add(nanos.Num(), new(big.Int).Sub(nanos.Denom(), big.NewInt(1)))
	return time.Duration(up.Div(up, nanos.Denom()).Int64())
}

func (m *model) decide(r limit.Rate, take bool) limit.Decision {
	tokens := m.filled(r.PerMinute)
	wait := m.dayWait(r.PerDay)
	if tokens != nil {
		wait = max(wait, until(tokens, 1, int64(r.PerMinute)))
	}
	if take {
		if wait == 0 && tokens != nil {
			tokens = new(big.Rat).Sub(tokens, rat(1, 1))
		}
		if wait == 0 && r.PerDay > 0 {
			m.allowed = append(m.allowed, m.time)
		}
		m.tokens, m.rate, m.at = tokens, r.PerMinute, m.time
	}
	return m.decision(tokens, r, wait)
}

func (m *model) decision(tokens *big.Rat, r limit.Rate, wait time.Duration) limit.Decision {
	d := limit.Decision{Allowed: wait == 0, Limit: none, Remaining: none, Day: none, Reset: m.wall, RetryAfter: wait}
	if tokens != nil {
		d.Limit = r.PerMinute
		d.Remaining = int(new(big.Int).Div(tokens.Num(), tokens.Denom()).Int64())
		d.Reset = m.wall.Add(until(tokens, int64(r.PerMinute), int64(r.PerMinute)))
	}
	if r.PerDay > 0 {
		d.Day = r.PerDay
		d.Remaining = min(d.Remaining, max(0, r.PerDay-m.after(0)))
	}
	return d
}
