-- Conventions of every table in this folder:
--   seq         the row's own number, used by foreign keys only
--   org_id      the owner: organisations.seq
--   id          the uuid that the API shows; unique within the organisation, so
--               that an export can be loaded into another one
--   *_at, time  RFC 3339 in UTC with milliseconds as text: sorts as time, reads
--               without conversion; dates are YYYY-MM-DD
--   numbers of any size are ANY, so that 100 stays 100 and 0.1 stays 0.1
--   resource    the row as the API shows it, derived by SQLite itself: kept on
--               disk for the lists, whose pages then need no encoding
--   X_records   a view: the row as `govsvc export` writes it
--   CHECK … IN  has two values at most: of a longer list SQLite makes a table
--               anew for each row, which is half of an INSERT's time

-- +goose Up
CREATE TABLE organisations (
  seq              INTEGER PRIMARY KEY,
  id               TEXT NOT NULL UNIQUE,
  name             TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 200),
  plan             TEXT NOT NULL CHECK (plan IN ('starter', 'professional') OR plan IN ('business', 'enterprise')),
  subscription     TEXT NOT NULL CHECK (subscription IN ('active', 'past_due') OR subscription = 'canceled'),
  -- the number in the last RISK-0001 style reference given out or imported
  last_risk_number INTEGER NOT NULL DEFAULT 0,
  created_at       TEXT NOT NULL,
  updated_at       TEXT NOT NULL
) STRICT;

-- Secrets of the file itself: what authenticates cursors and tags keys.
CREATE TABLE secrets (
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL CHECK (length(value) = 32)
) STRICT, WITHOUT ROWID;

CREATE TABLE api_keys (
  seq          INTEGER PRIMARY KEY,
  org_id       INTEGER NOT NULL REFERENCES organisations (seq),
  id           TEXT NOT NULL UNIQUE,
  name         TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 2000),
  kind         TEXT NOT NULL CHECK (kind IN ('live', 'test')),
  -- what is shown of the key: everything up to its identifying part
  prefix       TEXT NOT NULL,
  salt         BLOB NOT NULL CHECK (length(salt) = 16),
  hash         BLOB NOT NULL CHECK (length(hash) = 32),
  scopes       TEXT NOT NULL CHECK (json_type(scopes) = 'array'),
  -- overrides of the plan's limits; null: the plan's
  per_minute   INTEGER CHECK (per_minute > 0),
  per_day      INTEGER CHECK (per_day > 0),
  created_at   TEXT NOT NULL,
  expires_at   TEXT,
  revoked_at   TEXT,
  last_used_at TEXT
) STRICT;
CREATE INDEX api_keys_by_prefix ON api_keys (prefix);
CREATE INDEX api_keys_by_org ON api_keys (org_id, created_at, id);

-- The scopes that a key's requests have needed so far.
CREATE TABLE key_scope_uses (
  key_seq       INTEGER NOT NULL REFERENCES api_keys (seq) ON DELETE CASCADE,
  scope         TEXT NOT NULL,
  first_used_at TEXT NOT NULL,
  PRIMARY KEY (key_seq, scope)
) STRICT, WITHOUT ROWID;

-- Requests a key made in a slot of the rolling day; survives a restart.
CREATE TABLE limiter_counts (
  subject  TEXT NOT NULL,
  slot     INTEGER NOT NULL, -- Unix seconds at the slot's start
  requests INTEGER NOT NULL,
  PRIMARY KEY (subject, slot)
) STRICT, WITHOUT ROWID;
CREATE INDEX limiter_counts_by_slot ON limiter_counts (slot);
