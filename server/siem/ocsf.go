package siem

// OCSFVersion is the version of the schema of OCSF.
const OCSFVersion = "1.3.0"

// The class of all events: API Activity, of the category Application Activity.
const (
	categoryUID = 6
	classUID    = 6003
)

// The attributes below are those of OCSF 1.3.0, in the order of its groups:
// classification, occurrence, context, primary.
type apiActivity struct {
	ActivityID   int            `json:"activity_id"`
	ActivityName string         `json:"activity_name"`
	CategoryUID  int            `json:"category_uid"`
	CategoryName string         `json:"category_name"`
	ClassUID     int            `json:"class_uid"`
	ClassName    string         `json:"class_name"`
	TypeUID      int            `json:"type_uid"`
	TypeName     string         `json:"type_name"`
	SeverityID   int            `json:"severity_id"`
	Severity     string         `json:"severity"`
	Time         int64          `json:"time"` // milliseconds since 1970
	Metadata     metadata       `json:"metadata"`
	Unmapped     map[string]any `json:"unmapped"`
	StatusID     int            `json:"status_id"`
	Status       string         `json:"status"`
	Message      string         `json:"message"`
	Actor        actor          `json:"actor"`
	API          apiCall        `json:"api"`
	SrcEndpoint  endpoint       `json:"src_endpoint"`
	Resources    []resource     `json:"resources,omitempty"`
}

type metadata struct {
	Version      string      `json:"version"`
	Product      productInfo `json:"product"`
	UID          string      `json:"uid"`
	EventCode    string      `json:"event_code"`
	LogName      string      `json:"log_name"`
	OriginalTime string      `json:"original_time"`
	TenantUID    string      `json:"tenant_uid,omitempty"`
}

type productInfo struct {
	Name       string `json:"name"`
	VendorName string `json:"vendor_name"`
	Version    string `json:"version"`
}

type actor struct {
	User user `json:"user"`
}

type user struct {
	UID           string `json:"uid"`
	TypeID        int    `json:"type_id"`
	Type          string `json:"type"`
	CredentialUID string `json:"credential_uid,omitempty"`
}

type apiCall struct {
	Operation string      `json:"operation"`
	Request   *requestUID `json:"request,omitempty"`
	Service   named       `json:"service"`
}

type requestUID struct {
	UID string `json:"uid"`
}

type named struct {
	Name string `json:"name"`
}

// endpoint has an address or, if it is unknown, a name. The schema requires one of
// them.
type endpoint struct {
	IP   string `json:"ip,omitempty"`
	Name string `json:"name,omitempty"`
}

type resource struct {
	Type string `json:"type,omitempty"`
	UID  string `json:"uid,omitempty"`
	Name string `json:"name,omitempty"`
}

// choice is an id of the schema and its caption.
type choice struct {
	id      int
	caption string
}

// activities maps the verbs of actions and the operations of API writes. Any
// other verb is Other.
var activities = map[string]choice{
	"create": {1, "Create"}, "update": {3, "Update"}, "delete": {4, "Delete"},
	"created": {1, "Create"}, "minted": {1, "Create"}, "imported": {1, "Create"}, "filed": {1, "Create"},
	"read": {2, "Read"}, "exported": {2, "Read"},
	"updated": {3, "Update"}, "rotated": {3, "Update"}, "revoked": {3, "Update"},
	"deleted": {4, "Delete"}, "removed": {4, "Delete"}, "discarded": {4, "Delete"},
}

// severities maps the CEF scale, from 0.
var severities = [11]choice{
	{1, "Informational"},
	{1, "Informational"},
	{2, "Low"},
	{2, "Low"},
	{3, "Medium"},
	{3, "Medium"},
	{3, "Medium"},
	{4, "High"},
	{4, "High"},
	{5, "Critical"},
	{5, "Critical"},
}

// OCSF encodes an audit event, given as JSON, as an event of class 6003, API
// Activity, of OCSF 1.3.0, without a line end. Members without an attribute in the
// class are in unmapped: category, severity on the CEF scale, and metadata except
// the request's id and the client's address. An event without an address, such as
// one of the command line, has the src_endpoint "unknown".
func (s Source) OCSF(text []byte) ([]byte, error) {
	e, err := parse(text)
	if err != nil {
		return nil, err
	}
	activity, known := activities[e.verb()]
	kind := activity.caption
	if !known {
		activity, kind = choice{99, e.verb()}, "Other"
	}
	severity := choice{0, "Unknown"}
	if e.Severity >= 0 && e.Severity < len(severities) {
		severity = severities[e.Severity]
	}
	status := choice{1, "Success"}
	if e.failed() {
		status = choice{2, "Failure"}
	}
	return compact(apiActivity{
		ActivityID: activity.id, ActivityName: activity.caption,
		CategoryUID: categoryUID, CategoryName: "Application Activity",
		ClassUID: classUID, ClassName: "API Activity",
		TypeUID: classUID*100 + activity.id, TypeName: "API Activity: " + kind,
		SeverityID: severity.id, Severity: severity.caption,
		Time: e.at.UnixMilli(),
		Metadata: metadata{
			Version: OCSFVersion, Product: productInfo{product, product, s.Version}, UID: e.ID, EventCode: e.Action,
			LogName: "audit", OriginalTime: e.Time, TenantUID: s.OrganisationID,
		},
		Unmapped: e.unmapped(),
		StatusID: status.id, Status: status.caption, Message: e.message(),
		Actor: actor{e.user()}, API: e.call(), SrcEndpoint: e.source(), Resources: e.resources(),
	})
}

func (e *event) user() user {
	if id, isKey := e.keyID(); isKey {
		return user{UID: e.Actor, TypeID: 99, Type: "API key", CredentialUID: id}
	}
	if e.Actor == system {
		return user{UID: e.Actor, TypeID: 3, Type: "System"}
	}
	return user{UID: e.Actor, TypeID: 1, Type: "User"}
}

func (e *event) call() apiCall {
	call := apiCall{Operation: e.Action, Service: named{product}}
	if id := e.requestID(); id != "" {
		call.Request = &requestUID{id}
	}
	return call
}

func (e *event) source() endpoint {
	if address := e.address(); address != "" {
		return endpoint{IP: address}
	}
	return endpoint{Name: "unknown"}
}

// resources returns the record of the event. The schema requires a name or an id.
func (e *event) resources() []resource {
	switch kind, id := orEmpty(e.ResourceType), orEmpty(e.ResourceID); {
	case id != "":
		return []resource{{Type: kind, UID: id}}
	case kind != "":
		return []resource{{Type: kind, Name: kind}}
	}
	return nil
}

func (e *event) unmapped() map[string]any {
	rest := map[string]any{"category": e.Category, "severity": e.Severity}
	detail := map[string]any{}
	for name, value := range e.Metadata {
		if name == "request_id" && e.requestID() != "" || name == "address" && e.address() != "" {
			continue
		}
		detail[name] = value
	}
	if len(detail) > 0 {
		rest["metadata"] = detail
	}
	return rest
}
