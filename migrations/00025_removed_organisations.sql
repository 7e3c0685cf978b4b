-- +goose Up
-- When an organisation was removed. Its row and its audit log stay, under a name
-- that says so, and its former name is free again.
ALTER TABLE organisations ADD COLUMN removed_at TEXT;
