package db

import sqlite3 "modernc.org/sqlite/lib"

// SQLiteVersion is the version of the SQLite library within, e.g. 3.53.4.
func SQLiteVersion() string { return sqlite3.SQLITE_VERSION }
