-- +goose Up
-- The rolling day counts by the minute. Older versions counted by five minutes:
-- each such count moves to the last minute of its five, so that no request
-- stops counting before 24 hours have passed.
UPDATE limiter_counts SET slot = slot + 240 WHERE slot > 0;
