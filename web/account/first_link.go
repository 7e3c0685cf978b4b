package account

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/url"
	"sync"
	"time"
)

// FirstLinkLife is how long a FirstLink is valid.
const FirstLinkLife = 30 * time.Minute

// FirstLink is a link that creates the first administrator, once. Memory has only
// a hash of its token, so a restart makes a new link.
type FirstLink struct {
	now   func() time.Time
	ends  time.Time
	mutex sync.Mutex
	hash  [sha256.Size]byte
	used  bool
}

// NewFirstLink makes a link that is valid for FirstLinkLife.
func NewFirstLink(now func() time.Time) (link *FirstLink, token string) {
	token = rand.Text()
	return &FirstLink{now: now, ends: now().Add(FirstLinkLife), hash: sha256.Sum256([]byte(token))}, token
}

// FirstLinkPath returns the path of the link with a token.
func FirstLinkPath(token string) string { return "/setup?token=" + url.QueryEscape(token) }

// valid reports whether the link can be used with the token.
func (l *FirstLink) valid(token string) bool {
	if l == nil {
		return false
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	hash := sha256.Sum256([]byte(token))
	return !l.used && l.now().Before(l.ends) && subtle.ConstantTimeCompare(hash[:], l.hash[:]) == 1
}

// invalidate ends the link.
func (l *FirstLink) invalidate() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.used = true
}
