-- +goose Up
CREATE TABLE assessments (
  seq                 INTEGER PRIMARY KEY,
  org_id              INTEGER NOT NULL REFERENCES organisations (seq),
  id                  TEXT NOT NULL,
  overall_score       ANY CHECK (overall_score IS NULL OR typeof(overall_score) IN ('integer', 'real') AND overall_score BETWEEN 0 AND 100),
  adjusted_score      ANY CHECK (adjusted_score IS NULL OR typeof(adjusted_score) IN ('integer', 'real') AND adjusted_score BETWEEN 0 AND 100),
  verdict             TEXT CHECK (verdict IN ('CRISIS', 'EMERGENCY') OR verdict IN ('REMEDIATION', 'OPTIMIZATION') OR verdict = 'EXCELLENCE'),
  confidence          ANY CHECK (confidence IS NULL OR typeof(confidence) IN ('integer', 'real') AND confidence BETWEEN 0 AND 1),
  methodology_version TEXT NOT NULL,
  completed_at        TEXT NOT NULL,
  completeness        ANY CHECK (completeness IS NULL OR typeof(completeness) IN ('integer', 'real') AND completeness BETWEEN 0 AND 1),
  evidence_ratio      ANY CHECK (evidence_ratio IS NULL OR typeof(evidence_ratio) IN ('integer', 'real') AND evidence_ratio BETWEEN 0 AND 1),
  frameworks_applied  TEXT NOT NULL DEFAULT '[]' CHECK (json_type(frameworks_applied) = 'array'),
  created_at          TEXT NOT NULL,
  updated_at          TEXT NOT NULL,
  resource            TEXT GENERATED ALWAYS AS (json_object(
    'object', 'score', 'id', id, 'overall_score', overall_score, 'adjusted_score', adjusted_score,
    'verdict', verdict, 'confidence', confidence, 'methodology_version', methodology_version,
    'completed_at', completed_at)) STORED,
  scorecard           TEXT GENERATED ALWAYS AS (json_object(
    'object', 'scorecard', 'id', id, 'overall_score', overall_score, 'adjusted_score', adjusted_score,
    'verdict', verdict, 'confidence', confidence, 'methodology_version', methodology_version,
    'completed_at', completed_at, 'completeness', completeness, 'evidence_ratio', evidence_ratio,
    'frameworks_applied', json(frameworks_applied))) VIRTUAL,
  UNIQUE (org_id, id),
  UNIQUE (org_id, completed_at)
) STRICT;
CREATE INDEX assessments_by_updated ON assessments (org_id, updated_at, completed_at, id);

CREATE VIEW assessment_records AS
SELECT org_id, created_at, id, json_object(
  'object', 'assessment', 'id', id, 'overall_score', overall_score, 'adjusted_score', adjusted_score,
  'verdict', verdict, 'confidence', confidence, 'methodology_version', methodology_version,
  'completed_at', completed_at, 'completeness', completeness, 'evidence_ratio', evidence_ratio,
  'frameworks_applied', json(frameworks_applied), 'created_at', created_at, 'updated_at', updated_at) AS record
FROM assessments;
