package audit

import (
	"encoding/json"
	"testing"
)

// TestEntry_AppendJSON checks that the text of an event, which is encoded without
// reflection, is the text that encoding/json returns.
func TestEntry_AppendJSON(t *testing.T) {
	t.Parallel()
	kind, id := "risk", "01a \"quoted\" <id> \\ \n"
	for name, event := range map[string]Entry{
		"zero":     {},
		"short":    {Object: "audit_event", ID: "1", Time: "2026-09-12T08:00:00.000Z", Actor: "system", Action: "org.created", Category: System, Severity: 8},
		"escaped":  {Object: "audit_event", ID: id, Actor: "é\x01\xff", Category: DataChange, ResourceType: &kind, ResourceID: &id, Severity: -1},
		"metadata": {ResourceType: &kind, Metadata: Metadata{"z": 1, "a": "<&>", "m": map[string]any{"b": []any{nil, true, 1.5}, "a": "x"}, "none": nil}},
		"changes": {ResourceID: &id, Metadata: Metadata{"import_id": "7", "changes": Changes{
			"title": {To: "T\t\"1\""}, "number": {From: int64(7), To: 1.25}, "flag": {From: true}, "list": {To: json.RawMessage(`["a",1]`)},
			"long": {From: &Digest{Length: 3000, SHA256: "ab"}},
		}}},
		"numbers":    {Metadata: Metadata{"changes": Changes{"a": {From: 0.0, To: -0.5}, "b": {From: 1e-6, To: 9.99e-7}, "c": {From: 1e21, To: 1e20}, "d": {From: 123456.75, To: -1e300}}}},
		"no changes": {Metadata: Metadata{"changes": Changes{}}},
	} {
		if got, want := string(event.AppendJSON(nil)), encode(event); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}
