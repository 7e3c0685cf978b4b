// Package migrations holds the numbered SQL files that create and change the tables of
// the data file. Package db runs them with goose, in order. All migrations that a file
// lacks run in one transaction, so none may contain a statement that a transaction
// does not allow. There are no down migrations: the program refuses a file of a newer
// version. The way back is a backup that was made before the migration.
package migrations

import "embed"

// Files holds the migrations, named NNNNN_name.sql.
//
//go:embed *.sql
var Files embed.FS
