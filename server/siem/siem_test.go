package siem_test

import (
	"bytes"
	"testing"

	"govsvc/server/siem"
)

var source = siem.Source{Version: "v1.2.3", OrganisationID: "01990000-0000-7000-8000-000000000001", OrganisationName: "A|B = C"}

// events has one event of each kind, for the golden files.
var events = []string{
	`{"object":"audit_event","id":"01990000-0000-7000-8000-00000000000a","time":"2026-09-12T08:30:00.000Z","actor":"key:01990000-0000-7000-8000-000000000002","action":"api.write.risk","category":"data_change","resource_type":"risk","resource_id":"01990000-0000-7000-8000-000000000003","severity":3,"metadata":{"changes":{"title":{"from":null,"to":"a=b\\c | \"d\"\nnext"},"financial_exposure_max":{"from":null,"to":12345678901234567890}},"request_id":"req_1"}}`,
	`{"object":"audit_event","id":"01990000-0000-7000-8000-00000000000b","time":"2026-09-12T08:30:00.001Z","actor":"system","action":"risk.updated","category":"data_change","resource_type":"risk","resource_id":"01990000-0000-7000-8000-000000000003","severity":3,"metadata":{"changes":{}}}`,
	`{"object":"audit_event","id":"01990000-0000-7000-8000-00000000000c","time":"2026-09-12T08:30:01.000Z","actor":"01990000-0000-7000-8000-000000000004","action":"user.sign_in_refused","category":"authentication","resource_type":null,"resource_id":null,"severity":5}`,
	`{"object":"audit_event","id":"01990000-0000-7000-8000-00000000000d","time":"2026-09-12T08:30:02.000Z","actor":"key:01990000-0000-7000-8000-000000000002","action":"api.read.audit","category":"data_access","resource_type":null,"resource_id":null,"severity":1,"metadata":{"events":3,"format":"json","request_id":"req_2"}}`,
	`{"object":"audit_event","id":"01990000-0000-7000-8000-00000000000e","time":"2026-09-12T08:30:03.000Z","actor":"system","action":"key.minted","category":"key_management","resource_type":"api_key","resource_id":"01990000-0000-7000-8000-000000000002","severity":6,"metadata":{"name":"Überwachung"}}`,
	`{"object":"audit_event","id":"01990000-0000-7000-8000-00000000000f","time":"2026-09-12T08:30:04.000Z","actor":"system","action":"file.restored","category":"system","resource_type":null,"resource_id":null,"severity":8}`,
	`{"object":"audit_event","id":"01990000-0000-7000-8000-000000000010","time":"2026-09-12T08:30:05.000Z","actor":"system","action":"webhook_delivery.discarded","category":"webhook","resource_type":"webhook_delivery","resource_id":null,"severity":10}`,
	`{"object":"audit_event","id":"01990000-0000-7000-8000-000000000011","time":"2026-09-12T08:30:06.000Z","actor":"key:01990000-0000-7000-8000-000000000002","action":"api.write.risk","category":"data_change","resource_type":"risk","resource_id":"01990000-0000-7000-8000-000000000003","severity":3,"metadata":{"address":"192.0.2.7","changes":{},"operation":"create","request_id":"req_3"}}`,
	`{"object":"audit_event","id":"01990000-0000-7000-8000-000000000012","time":"2026-09-12T08:30:07.000Z","actor":"key:01990000-0000-7000-8000-000000000002","action":"api.write.risk","category":"data_change","resource_type":"risk","resource_id":"01990000-0000-7000-8000-000000000003","severity":3,"metadata":{"address":"2001:db8::1","changes":{},"operation":"update","request_id":"req_4"}}`,
	`{"object":"audit_event","id":"01990000-0000-7000-8000-000000000013","time":"2026-09-12T08:30:08.000Z","actor":"key:01990000-0000-7000-8000-000000000002","action":"api.write.webhook_subscription","category":"webhook","resource_type":"webhook_subscription","resource_id":"01990000-0000-7000-8000-000000000005","severity":3,"metadata":{"address":"not an address","operation":"delete"}}`,
}

// encodeAll encodes all events, with one on each line.
func encodeAll(t *testing.T, encode func([]byte) ([]byte, error)) []byte {
	t.Helper()
	var lines bytes.Buffer
	for _, event := range events {
		line, err := encode([]byte(event))
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	return lines.Bytes()
}

func TestEncode_NotAnEvent(t *testing.T) {
	t.Parallel()
	for _, text := range []string{``, `[]`, `{"id":"x"}`, `{"id":"x","time":"yesterday"}`} {
		for name, encode := range map[string]func([]byte) ([]byte, error){"cef": source.CEF, "ocsf": source.OCSF} {
			if line, err := encode([]byte(text)); err == nil {
				t.Errorf("%s: got %s for %q, want an error", name, line, text)
			}
		}
	}
}
