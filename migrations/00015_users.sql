-- +goose Up
-- Who may sign in to the dashboard.
CREATE TABLE users (
  seq             INTEGER PRIMARY KEY,
  id              TEXT NOT NULL UNIQUE,
  name            TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  -- the name without regard to case, as it is compared (RFC 8266)
  name_key        TEXT NOT NULL UNIQUE CHECK (name_key <> ''),
  role            TEXT NOT NULL CHECK (role IN ('admin', 'editor') OR role = 'viewer'),
  salt            BLOB NOT NULL CHECK (length(salt) = 16),
  password_hash   BLOB NOT NULL CHECK (length(password_hash) = 32),
  -- the second factor, if there is one, and the last step whose code was used
  totp_secret     BLOB CHECK (length(totp_secret) = 20),
  totp_step       INTEGER NOT NULL DEFAULT 0,
  created_at      TEXT NOT NULL,
  updated_at      TEXT NOT NULL,
  last_sign_in_at TEXT
) STRICT;

CREATE TABLE recovery_codes (
  user_seq INTEGER NOT NULL REFERENCES users (seq) ON DELETE CASCADE,
  hash     BLOB NOT NULL CHECK (length(hash) = 32),
  used_at  TEXT,
  PRIMARY KEY (user_seq, hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
  token_hash  BLOB PRIMARY KEY CHECK (length(token_hash) = 32),
  user_seq    INTEGER NOT NULL REFERENCES users (seq) ON DELETE CASCADE,
  org_id      INTEGER NOT NULL REFERENCES organisations (seq), -- at work on it
  created_at  TEXT NOT NULL,
  seen_at     TEXT NOT NULL,
  expires_at  TEXT NOT NULL,
  -- a second factor that its user has yet to confirm
  totp_secret BLOB CHECK (length(totp_secret) = 20)
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_user ON sessions (user_seq, created_at);
