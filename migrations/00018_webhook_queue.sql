-- +goose Up
-- A receiver set holds the subscriptions that receive one type of event of an
-- organisation. An event refers to the set that was current when it was raised,
-- so a write does not depend on the number of subscriptions. A set never gains
-- members. A deleted subscription leaves every set.
CREATE TABLE receiver_sets (
  seq     INTEGER PRIMARY KEY,
  org_id  INTEGER NOT NULL REFERENCES organisations (seq) ON DELETE CASCADE,
  type    TEXT NOT NULL,
  -- 0 after a change of the organisation's subscriptions; the delivery loop
  -- removes such a set when no fan-out refers to it
  current INTEGER NOT NULL DEFAULT 1 CHECK (current IN (0, 1))
) STRICT;
CREATE UNIQUE INDEX receiver_sets_current ON receiver_sets (org_id, type) WHERE current = 1;
CREATE INDEX receiver_sets_by_org ON receiver_sets (org_id);
CREATE INDEX receiver_sets_former ON receiver_sets (seq) WHERE current = 0;

CREATE TABLE receiver_set_members (
  set_seq          INTEGER NOT NULL REFERENCES receiver_sets (seq) ON DELETE CASCADE,
  subscription_seq INTEGER NOT NULL REFERENCES webhook_subscriptions (seq) ON DELETE CASCADE,
  PRIMARY KEY (set_seq, subscription_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX receiver_set_members_by_subscription ON receiver_set_members (subscription_seq);

-- An event whose deliveries are not all made yet. The row commits with the
-- event. The delivery loop makes the deliveries in the order of subscription_seq.
CREATE TABLE fan_outs (
  org_id    INTEGER NOT NULL REFERENCES organisations (seq),
  event_seq INTEGER NOT NULL REFERENCES events (seq),
  set_seq   INTEGER NOT NULL REFERENCES receiver_sets (seq),
  -- the last subscription whose delivery was made, 0 before the first
  done      INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (org_id, event_seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX fan_outs_by_event ON fan_outs (event_seq);
CREATE INDEX fan_outs_by_set ON fan_outs (set_seq);

-- The deliveries that are queued but have no row in deliveries yet.
CREATE VIEW unexpanded_deliveries AS
  SELECT f.event_seq, m.subscription_seq, e.created_at
  FROM receiver_set_members m
  JOIN fan_outs f ON f.set_seq = m.set_seq AND f.done < m.subscription_seq
  JOIN events e ON e.seq = f.event_seq;

-- The unary plus keeps SQLite from searching by the index that the update
-- changes, which would take a temporary table.
-- +goose StatementBegin
CREATE TRIGGER receiver_sets_end_on_insert AFTER INSERT ON webhook_subscriptions
BEGIN
  UPDATE receiver_sets SET current = 0 WHERE org_id = NEW.org_id AND +current = 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER receiver_sets_end_on_update AFTER UPDATE OF active, event_types ON webhook_subscriptions
WHEN OLD.active <> NEW.active OR OLD.event_types <> NEW.event_types
BEGIN
  UPDATE receiver_sets SET current = 0 WHERE org_id = NEW.org_id AND +current = 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER receiver_sets_end_on_delete AFTER DELETE ON webhook_subscriptions
BEGIN
  UPDATE receiver_sets SET current = 0 WHERE org_id = OLD.org_id AND +current = 1;
END;
-- +goose StatementEnd

-- The number of pending deliveries of each subscription, for the limit of its
-- queue. The triggers below keep it.
CREATE TABLE delivery_queues (
  subscription_seq INTEGER PRIMARY KEY REFERENCES webhook_subscriptions (seq) ON DELETE CASCADE,
  queued           INTEGER NOT NULL
) STRICT;
INSERT INTO delivery_queues (subscription_seq, queued)
  SELECT subscription_seq, count(*) FROM deliveries WHERE state = 'pending' GROUP BY subscription_seq;

-- +goose StatementBegin
CREATE TRIGGER delivery_queues_grow_on_insert AFTER INSERT ON deliveries WHEN NEW.state = 'pending'
BEGIN
  INSERT INTO delivery_queues (subscription_seq, queued) VALUES (NEW.subscription_seq, 1)
    ON CONFLICT (subscription_seq) DO UPDATE SET queued = queued + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER delivery_queues_grow_on_update AFTER UPDATE OF state ON deliveries WHEN NEW.state = 'pending' AND OLD.state <> 'pending'
BEGIN
  INSERT INTO delivery_queues (subscription_seq, queued) VALUES (NEW.subscription_seq, 1)
    ON CONFLICT (subscription_seq) DO UPDATE SET queued = queued + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER delivery_queues_shrink_on_update AFTER UPDATE OF state ON deliveries WHEN OLD.state = 'pending' AND NEW.state <> 'pending'
BEGIN
  UPDATE delivery_queues SET queued = queued - 1 WHERE subscription_seq = OLD.subscription_seq;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER delivery_queues_shrink_on_delete AFTER DELETE ON deliveries WHEN OLD.state = 'pending'
BEGIN
  UPDATE delivery_queues SET queued = queued - 1 WHERE subscription_seq = OLD.subscription_seq;
END;
-- +goose StatementEnd

-- The oldest pending delivery of a subscription.
CREATE INDEX deliveries_pending_by_event ON deliveries (subscription_seq, event_seq) WHERE state = 'pending';

-- Why a delivery became a dead letter without a last attempt; NULL otherwise.
ALTER TABLE deliveries ADD COLUMN reason TEXT;
