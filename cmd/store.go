package cmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"govsvc/db"
)

// fileNeed says whether a command can make the data file.
type fileNeed int

const (
	mustExist fileNeed = iota // the data file must exist
	mayCreate                 // it is made if it does not exist
)

// parseDataFile parses the path of the data file.
func parseDataFile(text string) (string, error) {
	if text == "" { // an unset variable of a script
		return "", errors.New("the path of the data file is empty")
	}
	return text, nil
}

// system is the actor of the command line in the audit log.
const system = "system"

// withStore runs a command on the data file.
func (a *app) withStore(ctx context.Context, need fileNeed, run func(*db.DB) error) error {
	store, err := db.Open(ctx, db.Options{Path: a.path, MustExist: need == mustExist})
	if err != nil {
		return err
	}
	return errors.Join(store.Explain(run(store)), store.Close())
}

// withOrg runs a command on one organisation of the data file. A file that is made
// has only the default one.
func (a *app) withOrg(ctx context.Context, need fileNeed, run func(*db.DB, db.Organisation) error) error {
	if a.org != db.DefaultOrganisation {
		need = mustExist
	}
	return a.withStore(ctx, need, func(store *db.DB) error {
		org, err := store.Orgs.ByName(ctx, a.org)
		if err != nil {
			return err
		}
		return run(store, org)
	})
}

// withAuditLog runs a command on the audit log of one organisation, which may
// have been removed.
func (a *app) withAuditLog(ctx context.Context, run func(*db.DB, db.Organisation) error) error {
	return a.withStore(ctx, mustExist, func(store *db.DB) error {
		org, err := store.Orgs.ByNameWithRemoved(ctx, a.org)
		if err != nil {
			return err
		}
		return run(store, org)
	})
}

// orgFlag adds --org to a command that works on one organisation.
func (a *app) orgFlag(commands ...*cobra.Command) {
	for _, c := range commands {
		c.Flags().StringVar(&a.org, "org", db.DefaultOrganisation, "`NAME` of the organisation to work on")
	}
}

// jsonFlag adds --json to a command that prints a result.
func (a *app) jsonFlag(commands ...*cobra.Command) {
	for _, c := range commands {
		c.Flags().BoolVar(&a.json, "json", false, "print the result as one JSON value, for scripts")
	}
}
