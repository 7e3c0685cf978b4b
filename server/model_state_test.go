package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The model implements the specification with maps and slices. It does not use the code
// of the service.

// modelRecord is a record with all its members, including those that the API does not
// return.
type modelRecord map[string]any

func (r modelRecord) text(member string) string { s, _ := r[member].(string); return s }

// model is the complete state of the service.
type model struct {
	now       time.Time
	sets      map[string]*dataset    // by organisation; "sandbox" is that of all test keys
	terms     map[string]callerState // by organisation
	keys      []*modelKey
	responses map[string]storedResponse // by organisation, environment and Idempotency-Key
	cursors   []issuedCursor
	seen      map[string]bool // ids that the service has returned
	tags      map[string]issuedTag
	urls      map[string]string // the outcome of the test operation, by URL
}

// dataset is the data of one organisation or of the sandbox.
type dataset struct {
	name       string
	frozen     bool                     // whether writes change nothing, as in the sandbox
	records    map[string][]modelRecord // by type, in the order of their creation
	checkins   []modelRecord
	log        []modelRecord // audit events
	riskNumber int
	timeline   []string // of incidents: id and status
	evidence   []string // of risks: id and reason
	deliveries []string // subscription and type
}

// modelKey is an API key.
type modelKey struct {
	id, plain, org string
	test           bool
	scopes         []string
	perMinute      int
	expires        time.Time // zero means never
	revoked        bool
	level          int64 // of the bucket: requests times a minute in nanoseconds
	at             time.Time
}

// storedResponse is a response that is replayed.
type storedResponse struct {
	request string
	status  int
	data    any
	at      time.Time
}

// issuedCursor is a cursor that the service has returned, and its position in the list.
type issuedCursor struct {
	token, list, set string
	order, id        string
	seq              int // in the audit log
}

// issuedTag is an ETag and the request that it was issued for.
type issuedTag struct{ tag, content string }

func (m *model) stamp() string { return stamp(m.now) }

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// sandboxNow is the instant that the clock of the sandbox always shows.
const sandboxNow = "2026-09-12T12:00:00.000Z"

// set returns the dataset that a key works on.
func (m *model) set(k *modelKey) *dataset {
	if k.test {
		return m.sets["sandbox"]
	}
	return m.sets[k.org]
}

func (m *model) standing(k *modelKey) callerState {
	s := m.terms[k.org]
	s.scopes = k.scopes
	return s
}

// refill updates the bucket of a key to the current time. A bucket has room for
// perMinute requests and gains a sixtieth of them each second.
func (k *modelKey) refill(now time.Time) {
	full := int64(k.perMinute) * int64(time.Minute)
	gained := int64(min(now.Sub(k.at), time.Minute)) * int64(k.perMinute)
	k.level, k.at = min(full, k.level+gained), now
}

func (k *modelKey) remaining() int { return int(k.level / int64(time.Minute)) }

// visible lists the members that the API returns, from the specification's tables.
var visible = map[string]string{
	"score":                "id overall_score adjusted_score verdict confidence methodology_version completed_at",
	"scorecard":            "id overall_score adjusted_score verdict confidence methodology_version completed_at completeness evidence_ratio frameworks_applied",
	"risk":                 "id risk_id dimension description severity residual_severity status source owner_name financial_exposure_min financial_exposure_max target_date created_at",
	"signal":               "id signal_type module_id numeric_value rag source_version as_of",
	"roadmap":              "id version_number executive_summary framework_blend phases milestones_count generated_at",
	"milestone":            "id roadmap_id milestone_key title phase sequence status rag_status progress_pct owner_role target_date created_at",
	"compliance_posture":   "id version_number overall_posture primary_jurisdictions regimes executive_summary generated_at",
	"obligation":           "id obligation_key regime_id regime_name jurisdiction title priority_band status owner_role target_date created_at",
	"vendor_portfolio":     "id version_number portfolio_posture executive_summary cross_vendor_risks recommended_actions generated_at",
	"vendor":               "id vendor_key vendor_name category ai_role initial_risk_band initial_recommendation status contract_end annual_cost_usd created_at",
	"talent_readiness":     "id version_number overall_readiness executive_summary build_buy_borrow generated_at",
	"talent_gap":           "id gap_key role_title function_area headcount_needed priority_band recommended_path status owner_role target_date created_at",
	"incident":             "id title description incident_type severity status affected_systems jurisdictions owner notification_required notification_deadline notified_at created_at updated_at",
	"kpi":                  "id code objective_id statement metric_name unit direction baseline_value target_value current_value current_as_of measurement_frequency status created_at updated_at",
	"webhook_subscription": "id url description event_types active created_via created_at updated_at",
	"kpi_checkin":          "id key_result_id key_result_code value period_start source evidence_ref note created_at",
}

// show returns a record as the API returns it.
func (r modelRecord) show(object string) map[string]any {
	out := map[string]any{"object": object}
	for _, member := range strings.Fields(visible[object]) {
		out[member] = r[member]
	}
	return out
}

// find returns the record of an id, or nil if the dataset has no such record.
func (d *dataset) find(object, id string) modelRecord {
	for _, r := range d.records[object] {
		if r.text("id") == id {
			return r
		}
	}
	return nil
}

// where returns the last record whose member has a value, or nil.
func (d *dataset) where(object, member string, value any) modelRecord {
	for _, r := range slices.Backward(d.records[object]) {
		if r[member] == value {
			return r
		}
	}
	return nil
}

// add adds a record. A frozen dataset does not change.
func (d *dataset) add(object string, r modelRecord) {
	if !d.frozen {
		d.records[object] = append(d.records[object], r)
	}
}

// audit adds an event to the audit log.
func (d *dataset) audit(event modelRecord) {
	if !d.frozen {
		d.log = append(d.log, event)
	}
}

// wrote returns the audit event of a write through the API.
func wrote(object string, id any) modelRecord {
	category := "data_change"
	if strings.HasPrefix(object, "webhook") {
		category = "webhook"
	}
	path, on := object, object
	switch object {
	case "kpi_checkin_batch":
		path, on, id = "kpi_checkin", "kpi_checkin", nil
	case "webhook_test_delivery":
		on = "webhook_subscription"
	}
	return modelRecord{"action": "api.write." + path, "category": category, "resource_type": on, "resource_id": id, "severity": 3.0}
}

// enqueue queues an event for each active subscription that matches it.
func (d *dataset) enqueue(kind string) {
	if d.frozen {
		return
	}
	for _, s := range d.records["webhook_subscription"] {
		types, _ := s["event_types"].([]any)
		if s["active"] == true && (len(types) == 0 || slices.Contains(types, any(kind))) {
			d.deliveries = append(d.deliveries, s.text("id")+" "+kind)
		}
	}
}

// change sets the members that are given and differ. It reports whether any differed.
func (r modelRecord) change(given modelRecord, at string) bool {
	before := plainJSON(r)
	maps.Copy(r, given)
	if plainJSON(r) == before {
		return false
	}
	r["updated_at"] = at
	return true
}

func plainJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// plain returns a value in the form that JSON decoding gives it.
func plain[T any](value any) (out T) {
	if err := json.Unmarshal([]byte(plainJSON(value)), &out); err != nil {
		panic(fmt.Sprint(err, value))
	}
	return out
}

// put imports one record (contract, section 5). The record has every member that the
// API returns, and an id.
func (d *dataset) put(object string, given modelRecord, at string) {
	given = maps.Clone(given)
	for _, member := range []string{"created_at", "updated_at"} {
		if given[member] == nil {
			given[member] = at
		}
	}
	switch object {
	case "signal":
		d.putSignal(given, at)
		return
	case "kpi_checkin":
		d.putPeriod(d.where("kpi", "code", given["key_result_code"]), given)
		return
	case "milestone":
		d.putMilestone(given, at)
		return
	case "roadmap", "kpi":
		d.settled(object, given)
	case "risk":
		var n int
		if _, err := fmt.Sscanf(given.text("risk_id"), "RISK-%d", &n); err == nil {
			d.riskNumber = max(d.riskNumber, n)
		}
	}
	key := map[string]string{
		"assessment": "completed_at", "risk": "risk_id", "obligation": "obligation_key", "vendor": "vendor_key",
		"talent_gap": "gap_key", "kpi": "code", "incident": "id",
	}[object]
	if key == "" {
		key = "version_number"
	}
	known := d.where(object, key, given[key])
	if known == nil {
		d.records[object] = append(d.records[object], given)
		return
	}
	known.update(given, at)
}

// settled removes members that the service derives from other records, such as the
// counts of a roadmap or the current value of a key result.
func (d *dataset) settled(object string, given modelRecord) {
	if object == "kpi" {
		if kpi := d.where("kpi", "code", given["code"]); kpi != nil && kpi["current_as_of"] != nil && given["current_as_of"] == nil {
			delete(given, "current_value")
			delete(given, "current_as_of")
		}
		return
	}
	if roadmap := d.where("roadmap", "version_number", given["version_number"]); roadmap != nil && roadmap["milestones_count"] != nil && given["milestones_count"] == nil {
		delete(given, "milestones_count")
	}
}

// update imports a record that already exists.
func (r modelRecord) update(given modelRecord, at string) {
	for _, member := range []string{"id", "created_at", "updated_at"} {
		delete(given, member)
	}
	r.change(given, at)
}

// putSignal stores the value of a signal. The value with the latest as_of is the
// current one of its type.
func (d *dataset) putSignal(given modelRecord, at string) {
	for i, known := range d.records["signal"] {
		switch {
		case known["signal_type"] != given["signal_type"] || known.text("as_of") > given.text("as_of"):
		case known["as_of"] == given["as_of"]:
			known.update(given, at)
		default:
			d.records["signal"][i] = given
		}
		if known["signal_type"] == given["signal_type"] {
			return
		}
	}
	d.records["signal"] = append(d.records["signal"], given)
}

// putMilestone adds a milestone to the roadmap that it names, or to the active roadmap.
func (d *dataset) putMilestone(given modelRecord, at string) {
	roadmap := d.active("roadmap")
	if version, named := given["roadmap_version"]; named {
		roadmap = d.where("roadmap", "version_number", version)
	}
	delete(given, "roadmap_version")
	given["roadmap_id"] = roadmap["id"]
	count := 0.0
	for _, known := range d.records["milestone"] {
		if known["roadmap_id"] != roadmap["id"] {
			continue
		}
		count++
		if known["milestone_key"] == given["milestone_key"] {
			known.update(given, at)
			return
		}
	}
	d.records["milestone"] = append(d.records["milestone"], given)
	if shown, _ := roadmap["milestones_count"].(float64); count+1 > shown {
		roadmap["milestones_count"] = count + 1
	}
}

// active returns the record with the highest version, or the latest assessment.
func (d *dataset) active(object string) modelRecord {
	var latest modelRecord
	for _, r := range d.records[object] {
		if object == "assessment" && (latest == nil || r.text("completed_at") > latest.text("completed_at")) {
			latest = r
		} else if object != "assessment" && (latest == nil || r["version_number"].(float64) > latest["version_number"].(float64)) {
			latest = r
		}
	}
	return latest
}

// putPeriod keeps one value for each key result and period. The current value follows
// the latest period.
func (d *dataset) putPeriod(kpi, given modelRecord) modelRecord {
	for _, known := range d.checkins {
		if known["key_result_code"] == kpi["code"] && known["period_start"] == given["period_start"] {
			for _, member := range []string{"value", "source", "evidence_ref", "note"} {
				known[member] = given[member]
			}
			kpi.follow(known)
			return known
		}
	}
	given["key_result_id"] = kpi["id"]
	d.checkins = append(d.checkins, given)
	kpi.follow(given)
	return given
}

func (r modelRecord) follow(checkin modelRecord) {
	if asOf := checkin.text("period_start") + "T00:00:00.000Z"; asOf >= r.text("current_as_of") {
		r["current_value"], r["current_as_of"] = checkin["value"], asOf
	}
}
