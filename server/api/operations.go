package api

import "govsvc/db"

// lists are the operations that page through a collection.
var lists = map[string]*db.Collection{
	"listScores":      &db.Scores,
	"listRisks":       &db.Risks,
	"listSignals":     &db.Signals,
	"listMilestones":  &db.Milestones,
	"listObligations": &db.Obligations,
	"listVendors":     &db.Vendors,
	"listTalentGaps":  &db.TalentGaps,
	"listIncidents":   &db.Incidents,
	"listKpis":        &db.Kpis,

	"listWebhookSubscriptions": &db.WebhookSubscriptions,
}

// operations are all operations that have a function here, by operationId.
var operations = map[string]Operation{
	"getScorecard":       current("scorecard", (*db.DB).Scorecard),
	"getRoadmap":         current("roadmap", (*db.DB).Roadmap),
	"getCompliance":      current("compliance_posture", (*db.DB).CompliancePosture),
	"getVendorPortfolio": current("vendor_portfolio", (*db.DB).VendorPortfolio),
	"getTalentReadiness": current("talent_readiness", (*db.DB).TalentReadiness),
	"listAuditEvents":    ListAuditEvents,

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
	for id, collection := range lists {
		operations[id] = list(collection)
	}
}

// transport are the operations that package server answers itself: they tell
// of the API, or are another way to the operations here, not of an
// organisation's data.
var transport = []string{"getIndex", "getDocument", "callMcp"}
