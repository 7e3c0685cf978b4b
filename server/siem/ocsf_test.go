package siem_test

import (
	"encoding/json"
	"net"
	"slices"
	"strings"
	"testing"

	"govsvc/internal/testkit"
	"govsvc/server/siem"
)

func TestOCSF(t *testing.T) {
	t.Parallel()
	testkit.Golden(t, "events.ocsf", string(encodeAll(t, source.OCSF)))
}

// object has the rules of an object of OCSF 1.3.0 for the attributes that our events have.
// They are from github.com/ocsf/ocsf-schema, tag 1.3.0: events/base_event,
// includes/classification, includes/occurrence, events/application/api (uid 3 in category
// 6), objects/*, and dictionary for types and enumerations.
type object struct {
	required   []string
	atLeastOne []string            // the schema's constraint
	members    map[string]string   // attribute → its type: a name below, "object", or an object's
	enums      map[string][]string // attribute → caption by id; "" without one
	captions   map[string]string   // attribute of an enumeration → attribute of its caption
}

// other is the id of values with a caption that the source chooses.
const other = 99

var schema = map[string]object{
	"api_activity": {
		required: []string{
			"activity_id", "category_uid", "class_uid", "type_uid", "severity_id", "time", "metadata", // of the base event
			"actor", "api", "src_endpoint", // of the class; osint and cloud only with their profiles
		},
		members: map[string]string{
			"activity_id": "integer_t", "activity_name": "string_t", "category_uid": "integer_t", "category_name": "string_t",
			"class_uid": "integer_t", "class_name": "string_t", "type_uid": "long_t", "type_name": "string_t",
			"severity_id": "integer_t", "severity": "string_t", "time": "timestamp_t", "metadata": "metadata", "unmapped": "object",
			"status_id": "integer_t", "status": "string_t", "message": "string_t", "actor": "actor", "api": "api",
			"src_endpoint": "network_endpoint", "resources": "resource_details[]",
		},
		enums: map[string][]string{
			"activity_id": {"Unknown", "Create", "Read", "Update", "Delete"},
			"severity_id": {"Unknown", "Informational", "Low", "Medium", "High", "Critical", "Fatal"},
			"status_id":   {"Unknown", "Success", "Failure"},
		},
		captions: map[string]string{"activity_id": "activity_name", "severity_id": "severity", "status_id": "status"},
	},
	"metadata": {
		required: []string{"product", "version"},
		members: map[string]string{
			"product": "product", "version": "string_t", "uid": "string_t", "event_code": "string_t", "log_name": "string_t",
			"original_time": "string_t", "tenant_uid": "string_t",
		},
	},
	"product": {
		required: []string{"vendor_name"}, atLeastOne: []string{"name", "uid"},
		members: map[string]string{"vendor_name": "string_t", "name": "string_t", "version": "string_t"},
	},
	"actor": {
		atLeastOne: []string{"process", "user", "invoked_by", "session", "app_name", "app_uid"},
		members:    map[string]string{"user": "user"},
	},
	"user": {
		atLeastOne: []string{"account", "name", "uid"},
		members:    map[string]string{"uid": "string_t", "type": "string_t", "type_id": "integer_t", "credential_uid": "string_t"},
		enums:      map[string][]string{"type_id": {"Unknown", "User", "Admin", "System"}},
		captions:   map[string]string{"type_id": "type"},
	},
	"api": {
		required: []string{"operation"},
		members:  map[string]string{"operation": "string_t", "request": "request", "service": "service"},
	},
	"request": {required: []string{"uid"}, members: map[string]string{"uid": "string_t"}},
	"service": {atLeastOne: []string{"name", "uid"}, members: map[string]string{"name": "string_t"}},
	"network_endpoint": {
		atLeastOne: []string{"ip", "uid", "name", "hostname", "svc_name", "instance_uid", "interface_uid", "interface_name"},
		members:    map[string]string{"name": "string_t", "ip": "ip_t"},
	},
	"resource_details": {
		atLeastOne: []string{"name", "uid"},
		members:    map[string]string{"name": "string_t", "uid": "string_t", "type": "string_t"},
	},
}

// TestOCSF_Schema checks every event with the rules above.
func TestOCSF_Schema(t *testing.T) {
	t.Parallel()
	if siem.OCSFVersion != "1.3.0" {
		t.Errorf("got version %s, want that of the rules, 1.3.0", siem.OCSFVersion)
	}
	for line := range strings.Lines(string(encodeAll(t, source.OCSF))) {
		var event map[string]any
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		checkObject(t, "api_activity", event)
		activity, _ := event["activity_id"].(float64)
		if event["category_uid"] != 6.0 || event["class_uid"] != 6003.0 || event["type_uid"] != 6003*100+activity {
			t.Errorf("got category %v, class %v, type %v of activity %v", event["category_uid"], event["class_uid"], event["type_uid"], activity)
		}
		if version := event["metadata"].(map[string]any)["version"]; version != siem.OCSFVersion {
			t.Errorf("got version %v, want %v", version, siem.OCSFVersion)
		}
		if event["time"].(float64) < 1.7e12 {
			t.Errorf("got time %v, want milliseconds", event["time"])
		}
	}
}

func checkObject(t *testing.T, kind string, value map[string]any) {
	t.Helper()
	rules, has := schema[kind], func(name string) bool { return value[name] != nil && value[name] != "" }
	for _, name := range rules.required {
		if !has(name) {
			t.Errorf("%s has no %s: %v", kind, name, value)
		}
	}
	if len(rules.atLeastOne) > 0 && !slices.ContainsFunc(rules.atLeastOne, has) {
		t.Errorf("%s has none of %q", kind, rules.atLeastOne)
	}
	for name, v := range value {
		checkAttribute(t, kind+"."+name, rules.members[name], v)
	}
	for name, captions := range rules.enums {
		id, given := value[name].(float64)
		caption := value[rules.captions[name]]
		switch at := int(id); {
		case given && at == other && caption == "":
			t.Errorf("%s.%s is Other without a caption", kind, name)
		case given && at != other && (at < 0 || at >= len(captions) || caption != captions[at]):
			t.Errorf("%s.%s is %v with the caption %v, which the schema does not have", kind, name, at, caption)
		}
	}
}

func checkAttribute(t *testing.T, name, kind string, value any) {
	t.Helper()
	fits := false
	switch one, isList := strings.CutSuffix(kind, "[]"); {
	case kind == "string_t":
		_, fits = value.(string)
	case kind == "ip_t":
		text, _ := value.(string)
		fits = net.ParseIP(text) != nil
	case kind == "integer_t" || kind == "long_t" || kind == "timestamp_t":
		number, isNumber := value.(float64)
		fits = isNumber && number == float64(int64(number))
	case kind == "object":
		_, fits = value.(map[string]any)
	case isList:
		var list []any
		list, fits = value.([]any)
		for _, each := range list {
			checkAttribute(t, name, one, each)
		}
	case schema[kind].members != nil:
		var below map[string]any
		if below, fits = value.(map[string]any); fits {
			checkObject(t, kind, below)
		}
	}
	if !fits {
		t.Errorf("%s is %v, want the type %q of the schema (\"\" if it has no such attribute)", name, value, kind)
	}
}

// TestOCSF_Mapping checks the activity of each verb, the severity of each value of the CEF
// scale, and the members without an attribute.
func TestOCSF_Mapping(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ from, to, want string }{
		{"risk.updated", "risk.updated", `"activity_id":3,"activity_name":"Update"`},
		{"risk.updated", "incident.created", `"activity_id":1,"activity_name":"Create"`},
		{"risk.updated", "webhook_subscription.deleted", `"activity_id":4,"activity_name":"Delete"`},
		{"risk.updated", "evidence_pack.exported", `"activity_id":2,"activity_name":"Read"`},
		{"risk.updated", "export.completed", `"activity_id":99,"activity_name":"completed"`},
		{"risk.updated", "api.write.risk", `"activity_id":99,"activity_name":"write"`},
		{"risk.updated", "api.read.audit", `"activity_id":2,"activity_name":"Read"`},
		{"risk.updated", "page.refused", `"status_id":2,"status":"Failure"`},
		{`"severity":3`, `"severity":0`, `"severity_id":1,`},
		{`"severity":3`, `"severity":1`, `"severity_id":1,`},
		{`"severity":3`, `"severity":3`, `"severity_id":2,`},
		{`"severity":3`, `"severity":5`, `"severity_id":3,`},
		{`"severity":3`, `"severity":6`, `"severity_id":3,`},
		{`"severity":3`, `"severity":8`, `"severity_id":4,`},
		{`"severity":3`, `"severity":9`, `"severity_id":5,`},
		{`"severity":3`, `"severity":11`, `"severity_id":0,"severity":"Unknown"`},
		{`{"changes":{}}`, `{"n":12345678901234567890}`, `"unmapped":{"category":"data_change","metadata":{"n":12345678901234567890},"severity":3}`},
		{`{"changes":{}}`, `{"request_id":"r"}`, `"unmapped":{"category":"data_change","severity":3}`},
		{`{"changes":{}}`, `{"request_id":"r"}`, `"request":{"uid":"r"}`},
	} {
		line, err := source.OCSF([]byte(strings.ReplaceAll(events[1], row.from, row.to)))
		if err != nil || !strings.Contains(string(line), row.want) {
			t.Errorf("%s: got %s, %v, want %s", row.to, line, err, row.want)
		}
	}
}
