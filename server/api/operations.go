package api

import "govsvc/db/resource"

// lists are the resources that have a list, by its operation.
var lists = map[string]*resource.Resource{}

// operations are all operations that have a function here, by operationId.
var operations = map[string]Operation{
	"listAuditEvents": ListAuditEvents,

	"createRisk":        CreateRisk,
	"updateRisk":        UpdateRisk,
	"createIncident":    CreateIncident,
	"updateIncident":    UpdateIncident,
	"createKpiCheckins": CreateKpiCheckins,
	"createVendor":      CreateVendor,
	"updateVendor":      UpdateVendor,

	"createWebhookSubscription": CreateWebhookSubscription,
	"updateWebhookSubscription": UpdateWebhookSubscription,
	"deleteWebhookSubscription": DeleteWebhookSubscription,
	"testWebhookSubscription":   TestWebhookSubscription,
}

func init() {
	for _, r := range resource.All() {
		if id := r.List.Operation; id != "" {
			lists[id], operations[id] = r, list(r)
		}
		if id := r.Current.Operation; id != "" {
			operations[id] = current(r)
		}
	}
}

// transport are the operations that package server answers itself: they tell
// of the API, or are another way to the operations here, not of an
// organisation's data.
var transport = []string{"getIndex", "getDocument", "callMcp"}
