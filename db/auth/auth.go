// Package auth manages the users of the dashboard: their roles, passwords, second
// factors, sessions and sign-in. It stores them through package db.
package auth

import (
	"govsvc/db"
	"govsvc/db/sqlite"
)

// operator is the actor of the command line, which may change every account.
const operator = "system"

// Service groups the services over one store. A process makes one for each store,
// because it counts failed attempts in memory.
type Service struct {
	Users       *Users
	Memberships *Memberships
	Sessions    *Sessions
	Account     *Account

	lastSeen *lastSeen
}

// New makes the services over a store. Call Close before the store is closed.
func New(store *db.DB) *Service {
	passwords, throttle, seen := newPasswordHasher(store), new(throttle), &lastSeen{store: store}
	return &Service{
		Users:       &Users{store, passwords},
		Memberships: &Memberships{store},
		Sessions:    &Sessions{store, passwords, throttle, seen},
		Account:     &Account{store, passwords, throttle},
		lastSeen:    seen,
	}
}

// Close waits until the file has the times when sessions were last used.
func (s *Service) Close() { s.lastSeen.close() }

// absent reports whether err means that a query returned no row. It returns all other
// errors.
func absent(err error) (bool, error) {
	if err == sqlite.ErrNoRows { //nolint:errorlint // never wrapped by Scan
		return true, nil
	}
	return false, err
}
