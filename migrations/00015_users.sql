-- +goose Up
-- Who may sign in to the dashboard.
CREATE TABLE users (
  seq           INTEGER PRIMARY KEY,
  id            TEXT NOT NULL UNIQUE,
  name          TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 200),
  role          TEXT NOT NULL CHECK (role IN ('admin', 'editor') OR role = 'viewer'),
  salt          BLOB NOT NULL,
  password_hash BLOB NOT NULL,
  totp_secret   BLOB,
  created_at    TEXT NOT NULL,
  updated_at    TEXT NOT NULL
) STRICT;

CREATE TABLE recovery_codes (
  user_seq INTEGER NOT NULL REFERENCES users (seq) ON DELETE CASCADE,
  hash     BLOB NOT NULL,
  used_at  TEXT,
  PRIMARY KEY (user_seq, hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
  token_hash BLOB PRIMARY KEY CHECK (length(token_hash) = 32),
  user_seq   INTEGER NOT NULL REFERENCES users (seq) ON DELETE CASCADE,
  created_at TEXT NOT NULL,
  seen_at    TEXT NOT NULL,
  expires_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_user ON sessions (user_seq);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
