package webhook

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// TestHostRates_Take counts the tokens of a host over simulated time. No second has
// more than the rate, and the average rate is nearly as high.
func TestHostRates_Take(t *testing.T) {
	t.Parallel()
	for _, perSecond := range []int{1, 2, 7, 20, 100, 1000} {
		t.Run(fmt.Sprint(perSecond), func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
			h := newHostRates(perSecond, func() time.Time { return now })
			var taken []time.Time
			for range 20_000 { // 20 s
				for h.take([]string{"a"}) {
					taken = append(taken, now)
				}
				now = now.Add(time.Millisecond)
			}
			first := 0
			for i, at := range taken {
				for at.Sub(taken[first]) >= time.Second {
					first++
				}
				if i-first+1 > max(perSecond, 2) { // at 1 per second, two can be just within one second
					t.Fatalf("%d in the second before %v", i-first+1, at)
				}
			}
			if least := max(1, perSecond*9/10) * 19; perSecond > 2 && len(taken) < least {
				t.Errorf("%d in 20 s, want at least %d", len(taken), least)
			}
		})
	}
}

// TestHostRates_TakesAllOrNone checks that a delivery takes a token of each of
// its hosts, or none.
func TestHostRates_TakesAllOrNone(t *testing.T) {
	t.Parallel()
	now := time.Now()
	h := newHostRates(1, func() time.Time { return now })
	if !h.take([]string{"name a", "192.0.2.1"}) || h.take([]string{"name b", "192.0.2.1"}) {
		t.Error("two names of one address have two rates")
	}
	if !h.take([]string{"name b", "192.0.2.2"}) {
		t.Error("a refused delivery took a token")
	}
	if wait := h.wait([]string{"name b", "192.0.2.3"}); wait < 900*time.Millisecond || wait > 1100*time.Millisecond {
		t.Errorf("got a wait of %v, want a second", wait)
	}
	if (*hostRates)(nil).take([]string{"x"}) != true {
		t.Error("without a limit nothing waits")
	}
}

// TestHostRates_Bounded checks that the memory for hosts and names is bounded, even if
// an attacker invents hosts.
func TestHostRates_Bounded(t *testing.T) {
	t.Parallel()
	now := time.Now()
	h := newHostRates(10, func() time.Time { return now })
	for i := range 3 * hostsKept {
		h.take([]string{fmt.Sprint("name ", i)})
		h.learn(fmt.Sprint(i), []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})})
		now = now.Add(time.Millisecond)
	}
	if len(h.hosts) > hostsKept || len(h.names) > namesKept {
		t.Errorf("%d hosts and %d names are kept", len(h.hosts), len(h.names))
	}
}

// TestHostRates_AddressKey checks which addresses count as one host.
func TestHostRates_AddressKey(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7", "2001:db8:1:2:3::4": "2001:db8:1:2::/64",
	} {
		if got := hostKey(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}
