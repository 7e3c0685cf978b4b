package cmd

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"govsvc/db"
)

// Bounds of what the audit log records about the person at the command line.
const (
	maxReason = 2000 // characters of --reason
	maxLogin  = 200  // characters of a user name
)

// actor returns the actor of a change that a command makes. The audit log records the
// operating-system user and the reason with it.
func (a *app) actor(org db.Org) db.Actor {
	effective := osUser()
	return db.Actor{Org: org, ID: system, OSUser: effective, OSLogin: a.sudoUser(effective), Reason: a.reason}
}

// osUser returns the name of the user that this process runs as. It is "uid N" if the
// system has no name for it.
func osUser() string {
	uid := os.Geteuid()
	if uid < 0 { // Windows has no numbers for users
		if u, err := user.Current(); err == nil {
			return u.Username
		}
		return ""
	}
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return fmt.Sprintf("uid %d", uid)
}

// sudoUser returns the name of the user who called sudo. It is empty if that is the
// effective user, or if SUDO_USER is not set. The name is not proven, because users can
// set the variable themselves.
func (a *app) sudoUser(effective string) string {
	name, _ := a.env("SUDO_USER")
	name = oneLine(strings.ToValidUTF8(name, "?"))
	if name == effective || utf8.RuneCountInString(name) > maxLogin {
		return ""
	}
	return name
}

// reasonFlag adds --reason to commands whose changes auditors may ask about later.
func (a *app) reasonFlag(commands ...*cobra.Command) {
	for _, c := range commands {
		c.Flags().Var(textValue{&a.reason, "TEXT", bounded("a reason", maxReason)}, "reason", "why this is done, for the audit log; at most 2000 characters")
	}
}
