package page

import "govsvc/db/auth"

// The permissions of pages that are not bound to a role.
const (
	// Public pages are open to everyone, without a sign-in.
	Public auth.Permission = ""
	// SignedIn pages are open to every signed-in user, even without a membership
	// in the organisation of the session.
	SignedIn auth.Permission = "signed in"
)

// Route is a page or an action of the dashboard.
type Route struct {
	// Pattern is a method and a path in the syntax of http.ServeMux.
	Pattern string
	// Needs is the permission that the page needs. Server.authorize checks it.
	Needs  auth.Permission
	Handle func(*Request) error
	// MaxBody limits the body of the request in bytes. 0 means MaxForm.
	MaxBody int64
	// Upload marks a form with files. The handler reads it with Request.Upload.
	Upload bool
	// Proof is the proof of identity that the page needs besides the session.
	// Pages need one if they change users, keys, roles, settings, a second factor
	// or the address of a webhook.
	Proof Proof
	// Download marks an answer that is a file and can take long. A user gets one
	// download at a time, and an address a limited number per minute.
	Download bool
}

// Proof is a proof of identity besides the session. Zero is none.
type Proof int

const (
	// FreshProof requires that the password or a code was given within
	// auth.ConfirmedFor. Otherwise the page "Confirm it is you" asks for it.
	FreshProof Proof = iota + 1
	// OwnProof means that the form of the page asks for the password or a code
	// every time.
	OwnProof
)
