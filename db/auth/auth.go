// Package auth holds the people who use the dashboard: users and their roles,
// passwords, second factors, sessions and sign-in.
package auth

import (
	"govsvc/db"
	"govsvc/db/sqlite"
)

// operator is the actor of the command line, which may change every account.
const operator = "system"

// Service is the services for users and sign-in over one store. A process makes one
// for each store, because it holds the counts of failed tries in memory.
type Service struct {
	Users       *Users
	Memberships *Memberships
	Sessions    *Sessions
	Account     *Account

	lastSeen *lastSeen
}

// New makes the services over a store. Close is called before the store is closed.
func New(store *db.DB) *Service {
	passwords, tries, seen := newPasswordHasher(store), new(throttle), &lastSeen{store: store}
	return &Service{
		Users:       &Users{store, passwords},
		Memberships: &Memberships{store},
		Sessions:    &Sessions{store, passwords, tries, seen},
		Account:     &Account{store, passwords, tries},
		lastSeen:    seen,
	}
}

// Close waits until the last uses of sessions are stored.
func (s *Service) Close() { s.lastSeen.close() }

// absent reports whether err is the lack of a row. It returns other errors.
func absent(err error) (bool, error) {
	if err == sqlite.ErrNoRows { //nolint:errorlint // never wrapped by Scan
		return true, nil
	}
	return false, err
}
