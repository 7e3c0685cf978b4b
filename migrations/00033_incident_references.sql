-- +goose Up
-- Every incident has a reference for people: its incident_key. One that an import or a
-- person has given stays. The others are numbered by organisation: INC-0001.
--
-- The number in the last reference that was given out.
ALTER TABLE organisations ADD COLUMN last_incident_number INTEGER NOT NULL DEFAULT 0;

-- Existing incidents get numbers after the greatest that the organisation has.
UPDATE organisations SET last_incident_number =
  (SELECT count(*) FROM incidents WHERE org_id = organisations.seq AND incident_key IS NULL) +
  (SELECT coalesce(max(CAST(substr(incident_key, 5) AS INTEGER)), 0) FROM incidents
   WHERE org_id = organisations.seq AND incident_key GLOB 'INC-[0-9]*'
     AND substr(incident_key, 5) NOT GLOB '*[^0-9]*' AND length(incident_key) <= 13)
WHERE seq IN (SELECT org_id FROM incidents WHERE incident_key IS NULL);

UPDATE incidents SET incident_key = numbered.incident_key
FROM (
  SELECT i.seq AS seq, printf('INC-%04d', o.last_incident_number - count(*) OVER (PARTITION BY i.org_id) +
    row_number() OVER (PARTITION BY i.org_id ORDER BY i.created_at, i.id)) AS incident_key
  FROM incidents i JOIN organisations o ON o.seq = i.org_id WHERE i.incident_key IS NULL
) AS numbered
WHERE numbered.seq = incidents.seq;
