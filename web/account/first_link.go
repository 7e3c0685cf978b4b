package account

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/url"
	"sync"
	"time"
)

// FirstLinkLife is how long the link for making the first admin works.
const FirstLinkLife = 30 * time.Minute

// FirstLink lets whoever has its token make the first admin, once. Only a hash
// of the token is held, in memory: a restart makes another.
type FirstLink struct {
	now   func() time.Time
	ends  time.Time
	mutex sync.Mutex
	hash  [sha256.Size]byte
	used  bool
}

// NewFirstLink makes a link that works from now on for FirstLinkLife.
func NewFirstLink(now func() time.Time) (link *FirstLink, token string) {
	token = rand.Text()
	return &FirstLink{now: now, ends: now().Add(FirstLinkLife), hash: sha256.Sum256([]byte(token))}, token
}

// FirstLinkPath is the path of the link with a token.
func FirstLinkPath(token string) string { return "/setup?token=" + url.QueryEscape(token) }

// open tells whether the link can be used with the token.
func (l *FirstLink) open(token string) bool {
	if l == nil {
		return false
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	hash := sha256.Sum256([]byte(token))
	return !l.used && l.now().Before(l.ends) && subtle.ConstantTimeCompare(hash[:], l.hash[:]) == 1
}

// use ends the link.
func (l *FirstLink) use() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.used = true
}
