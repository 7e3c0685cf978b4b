// Package migrations holds the numbered SQL files that build and change the
// data file, one a noun. Package db runs them with goose, in order, all that a
// file lacks in one transaction: none may need to stand outside of one. There
// are no down migrations: a file made by a newer program is refused, and a copy
// made before a migration is the way back.
package migrations

import "embed"

// Files holds the migrations, named NNNNN_noun.sql.
//
//go:embed *.sql
var Files embed.FS
