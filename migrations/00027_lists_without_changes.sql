-- +goose Up
-- The order of a list without the time of the change. That time made each change of a
-- record write a page of this index too. Records changed since an instant are found in the
-- index of changes, or by a walk that reads the rows.
DROP INDEX risks_by_created;
CREATE INDEX risks_by_created ON risks (org_id, created_at, id);
DROP INDEX milestones_by_created;
CREATE INDEX milestones_by_created ON milestones (org_id, roadmap_id, created_at, id);
DROP INDEX obligations_by_created;
CREATE INDEX obligations_by_created ON obligations (org_id, created_at, id);
DROP INDEX vendors_by_created;
CREATE INDEX vendors_by_created ON vendors (org_id, created_at, id);
DROP INDEX talent_gaps_by_created;
CREATE INDEX talent_gaps_by_created ON talent_gaps (org_id, created_at, id);
DROP INDEX kpis_by_created;
CREATE INDEX kpis_by_created ON kpis (org_id, created_at, id);
DROP INDEX incidents_by_created;
CREATE INDEX incidents_by_created ON incidents (org_id, created_at, id);
