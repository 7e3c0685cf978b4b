-- +goose Up
-- Where a session was started and when its user last gave a password or a code.
ALTER TABLE sessions ADD COLUMN address TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN browser TEXT NOT NULL DEFAULT ''; -- the User-Agent header, shortened
ALTER TABLE sessions ADD COLUMN confirmed_at TEXT; -- the last password or code; NULL in sessions of older versions
