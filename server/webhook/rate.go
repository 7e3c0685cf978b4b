package webhook

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// hostBurst is the divisor of the rate that gives the size of a burst. The sustained
	// rate is lower by one burst, so that no second has more deliveries than the rate.
	hostBurst = 20
	// namesKept and hostsKept are the maximum numbers of cached names and hosts.
	namesKept, hostsKept = 4096, 16384
	// nameFresh is how long the addresses of a name are cached.
	nameFresh = 30 * time.Second
	// addressesCounted is the maximum number of addresses of a name that count.
	addressesCounted = 8
)

// hostRates limits the deliveries to one receiving host. A host is the name in the
// URL and each address that the name resolves to. Names with the same address
// share its rate, and so do the addresses of one name. IPv6 addresses of one /64
// network count as one. A nil hostRates has no limit.
type hostRates struct {
	perSecond int
	now       func() time.Time // the clock of the machine, which tests replace

	mutex sync.Mutex
	hosts map[string]*rate.Limiter
	names map[string]knownName
}

// knownName is the last resolution of a name.
type knownName struct {
	addresses []string // as keys of hosts
	at        time.Time
}

// newHostRates returns limits of that many deliveries a second; 0 is no limit.
func newHostRates(perSecond int, now func() time.Time) *hostRates {
	if perSecond <= 0 {
		return nil
	}
	return &hostRates{perSecond: perSecond, now: now, hosts: map[string]*rate.Limiter{}, names: map[string]knownName{}}
}

// limiter returns the token bucket of a host, full if the host is new.
func (h *hostRates) limiter(host string) *rate.Limiter {
	l := h.hosts[host]
	if l != nil {
		return l
	}
	if len(h.hosts) >= hostsKept {
		h.forgetIdle()
	}
	burst := max(1, h.perSecond/hostBurst)
	l = rate.NewLimiter(rate.Limit(max(1, h.perSecond-burst)), burst)
	h.hosts[host] = l
	return l
}

// forgetIdle removes the token buckets that are full. A new bucket has the same
// state.
func (h *hostRates) forgetIdle() {
	now := h.now()
	for host, l := range h.hosts {
		if l.TokensAt(now) >= float64(l.Burst()) {
			delete(h.hosts, host)
		}
	}
}

// take takes a token of each host and returns true. If a host has no token, it takes none
// and returns false.
func (h *hostRates) take(hosts []string) bool {
	if h == nil || len(hosts) == 0 {
		return true
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	now := h.now()
	for _, host := range hosts {
		if h.limiter(host).TokensAt(now) < 1 {
			return false
		}
	}
	for _, host := range hosts {
		h.limiter(host).AllowN(now, 1)
	}
	return true
}

// wait returns the time until each host has a token.
func (h *hostRates) wait(hosts []string) (longest time.Duration) {
	if h == nil {
		return 0
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	now := h.now()
	for _, host := range hosts {
		l := h.limiter(host)
		missing := 1 - l.TokensAt(now)
		longest = max(longest, time.Duration(missing/float64(l.Limit())*float64(time.Second)))
	}
	return longest
}

// capacity returns how many deliveries a host allows now and within the next tenth
// of a second.
func (h *hostRates) capacity(host string) int {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return int(h.limiter(host).TokensAt(h.now())) + h.maxAhead()
}

// maxAhead returns how many deliveries to a host may be in memory beyond its
// tokens.
func (h *hostRates) maxAhead() int { return max(1, h.perSecond/10) }

// learn caches the addresses of a name.
func (h *hostRates) learn(name string, addresses []netip.Addr) []string {
	if h == nil {
		return nil
	}
	var keys []string
	for _, address := range addresses[:min(len(addresses), addressesCounted)] {
		if key := hostKey(address); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	now := h.now()
	if len(h.names) >= namesKept {
		for other, known := range h.names {
			if now.Sub(known.at) >= nameFresh {
				delete(h.names, other)
			}
		}
		if len(h.names) >= namesKept {
			clear(h.names)
		}
	}
	h.names[name] = knownName{keys, now}
	return keys
}

func (h *hostRates) known(name string) (addresses []string, fresh bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	known, is := h.names[name]
	return known.addresses, is && h.now().Sub(known.at) < nameFresh
}

// hostKey returns the key of the host at an address.
func hostKey(address netip.Addr) string {
	address = address.Unmap()
	if address.Is6() {
		if network, err := address.WithZone("").Prefix(64); err == nil {
			return network.String()
		}
	}
	return address.String()
}

// hostsOf lists the hosts that a delivery to a URL counts for. It resolves the name
// unless it is cached. If that fails, the name alone counts.
func (s *Sender) hostsOf(ctx context.Context, url string) []string {
	if s.rates == nil {
		return nil
	}
	t, err := parseURL(url)
	switch {
	case err != nil:
		return nil
	case t.address.IsValid():
		return []string{hostKey(t.address)}
	}
	hosts := []string{"name " + t.host}
	addresses, fresh := s.rates.known(t.host)
	if !fresh {
		ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
		defer cancel()
		if found, err := s.guard.resolve(ctx, t); err == nil {
			addresses = s.rates.learn(t.host, found)
		}
	}
	return append(hosts, addresses...)
}

// chargedHosts is the context key of the hosts that the delivery took a token of.
// The dialler reads it.
type chargedHosts struct{}

// admit takes a token of an address before a connection to it, unless the delivery
// has one already or is not limited.
func (h *hostRates) admit(ctx context.Context, address netip.Addr) error {
	paid, limited := ctx.Value(chargedHosts{}).([]string)
	if h == nil || !limited {
		return nil
	}
	if key := hostKey(address); !slices.Contains(paid, key) && !h.take([]string{key}) {
		return errLimited
	}
	return nil
}
