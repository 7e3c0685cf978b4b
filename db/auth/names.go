package auth

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/secure/precis"

	"govsvc/db"
)

const maxNameLength = 200 // characters

var errNameLength = &db.Error{Code: db.Invalid, Param: "name", Message: "a user's name has 1 to 200 characters"}

// normalizeName returns the form of a name that is stored and shown, and the key by
// which names are compared (RFC 8266). The form has single spaces and no full-width
// letters. The key has no capital letters either.
func normalizeName(typed string) (name, key string, err error) {
	if strings.TrimSpace(typed) == "" || len(typed) > maxTextBytes {
		return "", "", errNameLength
	}
	if name, err = precis.Nickname.String(typed); err == nil {
		key, err = precis.Nickname.CompareKey(name)
	}
	switch {
	case utf8.RuneCountInString(name) > maxNameLength:
		return "", "", errNameLength
	case err != nil:
		return "", "", &db.Error{
			Code: db.Invalid, Param: "name",
			Message: "a user's name has 1 to 200 letters, digits, signs and single spaces, and no control characters",
		}
	}
	return name, key, nil
}

// nameKey returns the key of a name, "" if no user can have the name.
func nameKey(typed string) string {
	_, key, err := normalizeName(typed)
	if err != nil {
		return ""
	}
	return key
}
