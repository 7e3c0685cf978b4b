package listener

import (
	"context"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// warningInterval is the time for which warnings are counted.
	warningInterval = time.Minute
	// warningAddresses is how many addresses have lines of their own in that
	// time. The warnings about all others share one.
	warningAddresses = 8
)

// warnings logs errors that clients cause. It logs the first warning about an
// address immediately and further ones as a count once a minute. So it writes at
// most 17 lines a minute for any number of clients.
type warnings struct {
	logger *slog.Logger

	mutex sync.Mutex
	seen  map[string]*repeated // by address
	other repeated             // about further addresses
}

// repeated counts warnings.
type repeated struct {
	count         int // beyond those that were logged immediately
	message, last string
}

func newWarnings(logger *slog.Logger) *warnings {
	return &warnings{logger: logger, seen: map[string]*repeated{}}
}

// add logs or counts one warning.
func (w *warnings) add(message, address, reason string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	seen := w.seen[address]
	if seen == nil && len(w.seen) < warningAddresses {
		w.seen[address] = &repeated{}
		w.logger.Warn(message, "address", address, "error", reason)
		return
	}
	if seen == nil {
		seen = &w.other
	}
	seen.count++
	seen.message, seen.last = message, reason
}

// flush logs the counts and resets them.
func (w *warnings) flush() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, address := range slices.Sorted(maps.Keys(w.seen)) {
		w.seen[address].log(w.logger, address)
	}
	w.other.log(w.logger, "others")
	w.seen, w.other = map[string]*repeated{}, repeated{}
}

func (r *repeated) log(logger *slog.Logger, address string) {
	if r.count > 0 {
		logger.Warn(r.message, "address", address, "count", r.count, "last_error", r.last)
	}
}

// start logs the counts once a minute in the background. The function that it
// returns ends that and logs the remaining counts.
func (w *warnings) start() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		ticker := time.NewTicker(warningInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				w.flush()
				return
			case <-ticker.C:
				w.flush()
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// addressInText matches an address with a port, as package net/http writes it.
var addressInText = regexp.MustCompile(`(\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:.]+\])(?:%\w+)?:\d+`)

// Write logs a message of package net/http (http.Server.ErrorLog). A message that
// names a client is counted like other warnings. A stack trace is logged whole.
func (w *warnings) Write(p []byte) (int, error) {
	text := strings.TrimSuffix(string(p), "\n")
	found := addressInText.FindStringSubmatch(text)
	if found == nil || strings.Contains(text, "\n") {
		w.logger.Warn(text)
		return len(p), nil
	}
	w.add("connection failed", strings.Trim(found[1], "[]"), strings.Replace(text, found[0], "the client", 1))
	return len(p), nil
}
