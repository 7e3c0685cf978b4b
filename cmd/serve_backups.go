package cmd

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/db/backup"
)

// backupFlags are the flags about scheduled backups.
type backupFlags struct {
	folder string
	every  time.Duration
	keep   *int
}

func newBackupFlags() backupFlags {
	keep := 14
	return backupFlags{every: 24 * time.Hour, keep: &keep}
}

// add defines the flags on a command.
func (b *backupFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&b.folder, "backup-dir", "", "`FOLDER` for scheduled backups; use a folder for this data file alone, on another disk")
	c.Flags().Var(durationValue{&b.every, time.Second}, "backup-every", "greatest age of the newest backup before another one is made")
	c.Flags().Var(countValue{&b.keep, 1}, "backup-keep", "how many of the newest scheduled backups to keep")
}

// check refuses flags that need --backup-dir.
func (b *backupFlags) check(c *cobra.Command) error {
	for _, name := range []string{"backup-every", "backup-keep"} {
		if b.folder == "" && c.Flags().Changed(name) {
			return usageErrorf("--%s goes with --backup-dir, the folder for backups%s", name, helpHint(c))
		}
	}
	return nil
}

// work returns work that makes the backups until its context ends, or nil without
// --backup-dir.
func (b *backupFlags) work(store *db.DB, logger *slog.Logger) (func(context.Context) error, error) {
	if b.folder == "" {
		return nil, nil
	}
	schedule := backup.Schedule{Folder: b.folder, Every: b.every, Keep: *b.keep}
	if err := schedule.Prepare(); err != nil {
		return nil, fmt.Errorf("--backup-dir: %w", err)
	}
	return func(ctx context.Context) error {
		backup.New(store).Run(ctx, schedule, logger)
		return nil
	}, nil
}
