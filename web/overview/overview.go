// Package overview has the first page of the dashboard, and the page with everything
// that needs attention.
package overview

import (
	"time"

	"govsvc/db/auth"
	"govsvc/server/api"
	"govsvc/server/openapi"
	"govsvc/web/page"
)

// pageData is the argument of the page "Overview". Parts without content are nil or
// empty.
type pageData struct {
	Now        time.Time // reference for clocks
	FirstSteps *firstSteps
	Attention  *attentionState
	Assessment *assessmentState
	Risks      riskState
	Incidents  *incidentState // nil if the plan has none
	Kpis       kpiState
	Regimes    regimeState
	Roadmap    roadmapState
	Activities []activity
}

// Page has the first page.
type Page struct{ severities, likelihoods []string }

// New reads the levels of risks from the document.
func New(document *openapi.Document) *Page {
	return &Page{riskLevels(document, "severity"), riskLevels(document, "likelihood")}
}

// firstSteps are suggestions for an organisation without records.
type firstSteps struct{ Import, CreateKeys bool }

// Show returns the first page.
func (o *Page) Show(r *page.Request) error {
	result, err := api.Overview(r.Context(), r.Caller)
	if err != nil {
		return err
	}
	data := pageData{Now: r.Store.Now()}
	if isEmpty(result) {
		data.FirstSteps = &firstSteps{r.May(auth.WriteRecords), r.May(auth.Administer)}
		return r.Render("overview", "Overview", data)
	}
	if data.Attention, err = attentionStateOf(r); err != nil {
		return err
	}
	data.Assessment = assessmentStateOf(result.Assessments)
	data.Risks = riskStateOf(result, o.severities, o.likelihoods)
	data.Incidents = incidentStateOf(result.Incidents)
	data.Kpis, data.Regimes, data.Roadmap = kpiStateOf(result), regimeStateOf(result.Obligations), roadmapStateOf(result.Phases)
	if data.Activities, err = activities(r, result.Recent); err != nil {
		return err
	}
	return r.Render("overview", "Overview", data)
}

// isEmpty reports whether the organisation has no records for this page.
func isEmpty(result api.OverviewPage) bool {
	return len(result.Assessments) == 0 && result.OpenRisks == 0 && result.ActiveKpis == 0 && len(result.Obligations) == 0 && len(result.Phases) == 0 &&
		(result.Incidents == nil || result.Incidents.Open == 0) && len(result.Recent) == 0
}
