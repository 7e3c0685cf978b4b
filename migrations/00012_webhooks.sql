-- +goose Up
CREATE TABLE webhook_subscriptions (
  seq             INTEGER PRIMARY KEY,
  org_id          INTEGER NOT NULL REFERENCES organisations (seq),
  id              TEXT NOT NULL,
  url             TEXT NOT NULL,
  description     TEXT,
  event_types     TEXT NOT NULL DEFAULT '[]' CHECK (json_type(event_types) = 'array'),
  active          INTEGER NOT NULL DEFAULT 1 CHECK (active IN (0, 1)),
  created_via     TEXT NOT NULL CHECK (created_via IN ('dashboard', 'api')),
  -- signing needs the secret itself; it leaves the file only in the answer
  -- that creates it and in signatures
  secret          TEXT NOT NULL,
  former_secret   TEXT,
  former_until    TEXT,
  created_at      TEXT NOT NULL,
  updated_at      TEXT NOT NULL,
  resource        TEXT GENERATED ALWAYS AS (json_object(
    'object', 'webhook_subscription', 'id', id, 'url', url, 'description', description,
    'event_types', json(event_types), 'active', json(iif(active, 'true', 'false')),
    'created_via', created_via, 'created_at', created_at, 'updated_at', updated_at)) STORED,
  UNIQUE (org_id, id)
) STRICT;
CREATE INDEX webhook_subscriptions_by_created ON webhook_subscriptions (org_id, created_at, id);

-- The outbox: an event is written with the change that raised it.
CREATE TABLE events (
  seq        INTEGER PRIMARY KEY,
  org_id     INTEGER NOT NULL REFERENCES organisations (seq),
  id         TEXT NOT NULL UNIQUE,
  type       TEXT NOT NULL,
  body       TEXT NOT NULL, -- the exact bytes that are signed and sent
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_org ON events (org_id, seq);

CREATE TABLE deliveries (
  seq              INTEGER PRIMARY KEY,
  id               TEXT NOT NULL UNIQUE,
  event_seq        INTEGER NOT NULL REFERENCES events (seq),
  subscription_seq INTEGER NOT NULL REFERENCES webhook_subscriptions (seq) ON DELETE CASCADE,
  state            TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'dead')),
  attempts         INTEGER NOT NULL DEFAULT 0,
  due_at           TEXT,
  leased_until     TEXT,
  created_at       TEXT NOT NULL,
  updated_at       TEXT NOT NULL
) STRICT;
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE state = 'pending';
CREATE INDEX deliveries_by_subscription ON deliveries (subscription_seq, seq);
CREATE INDEX deliveries_by_event ON deliveries (event_seq);
CREATE INDEX deliveries_dead ON deliveries (subscription_seq, seq) WHERE state = 'dead';

CREATE TABLE delivery_attempts (
  seq          INTEGER PRIMARY KEY,
  delivery_seq INTEGER NOT NULL REFERENCES deliveries (seq) ON DELETE CASCADE,
  at           TEXT NOT NULL,
  duration_ms  INTEGER NOT NULL,
  status       INTEGER, -- the receiver's, when it answered
  error        TEXT,
  answer       TEXT     -- its first 1 KB
) STRICT;
CREATE INDEX delivery_attempts_by_delivery ON delivery_attempts (delivery_seq, seq);
CREATE INDEX delivery_attempts_by_time ON delivery_attempts (at);
