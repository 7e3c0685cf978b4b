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
-- who wants events, and whom the delivery loop looks after
CREATE INDEX webhook_subscriptions_active ON webhook_subscriptions (org_id) WHERE active = 1;

-- The outbox: an event that somebody wants is written with the change that
-- raised it.
CREATE TABLE events (
  seq        INTEGER PRIMARY KEY,
  org_id     INTEGER NOT NULL REFERENCES organisations (seq),
  id         TEXT NOT NULL,
  type       TEXT NOT NULL,
  body       TEXT NOT NULL, -- the exact bytes that are signed and sent
  created_at TEXT NOT NULL
) STRICT;

-- An event on its way to a subscription. No index goes over all of them but
-- those that the loop and a deletion need: an event makes one row for each
-- subscription that wants it, in the writer's time.
CREATE TABLE deliveries (
  event_seq        INTEGER NOT NULL REFERENCES events (seq),
  subscription_seq INTEGER NOT NULL REFERENCES webhook_subscriptions (seq) ON DELETE CASCADE,
  id               TEXT NOT NULL,
  state            TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered') OR state = 'dead'),
  -- those that count towards the schedule: a replay starts anew
  attempts         INTEGER NOT NULL DEFAULT 0,
  -- of a pending one: when it is to be claimed next; while a process holds it,
  -- when its lease ends
  due_at           TEXT,
  -- counts the claims: who settles must name the claim it holds
  lease            INTEGER NOT NULL DEFAULT 0,
  created_at       TEXT NOT NULL,
  updated_at       TEXT NOT NULL,
  PRIMARY KEY (event_seq, subscription_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_pending ON deliveries (subscription_seq, due_at) WHERE state = 'pending';
CREATE INDEX deliveries_by_subscription ON deliveries (subscription_seq, event_seq);
CREATE INDEX deliveries_dead ON deliveries (subscription_seq, event_seq) WHERE state = 'dead';
CREATE INDEX deliveries_dead_by_id ON deliveries (id) WHERE state = 'dead';

-- The log: one row an attempt, replays included.
CREATE TABLE delivery_attempts (
  event_seq        INTEGER NOT NULL,
  subscription_seq INTEGER NOT NULL,
  number           INTEGER NOT NULL, -- from 1
  at               TEXT NOT NULL,
  duration_ms      INTEGER NOT NULL,
  status           INTEGER, -- the receiver's, when it answered
  error            TEXT,    -- why it did not
  answer           TEXT,    -- its first 1 KB
  PRIMARY KEY (event_seq, subscription_seq, number),
  FOREIGN KEY (event_seq, subscription_seq) REFERENCES deliveries (event_seq, subscription_seq) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
