// Package certificates provides the TLS certificates of the server. They come
// from files, which are reloaded when they change, or from an ACME authority.
package certificates

import (
	"context"
	"crypto/tls"
	"net/http"
	"time"
)

// Source provides the certificates of a server.
type Source struct {
	// TLS is the configuration of its connections.
	TLS *tls.Config
	// Run obtains certificates until ctx ends; nil if there is nothing to obtain.
	Run func(ctx context.Context) error
	// Expiry returns when each certificate in use expires, by name.
	Expiry func() map[string]time.Time
	// Challenges returns the handler of the challenges that an authority fetches by
	// plain HTTP (HTTP-01); nil without an authority.
	Challenges func() http.Handler
}
