package overview

import (
	"govsvc/server/api"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// regimeState counts obligations by regime and status.
type regimeState struct {
	records.RegimeProgress
	Summary string // "54 of 116 met"; "" if none applies
}

// maxRegimes bounds the regimes with a bar: those with the most obligations.
const maxRegimes = 8

func regimeStateOf(regimes []api.RegimeCount) regimeState {
	state := regimeState{RegimeProgress: records.ProgressOf(regimes, maxRegimes)}
	compliant, applicable := 0, 0
	for _, r := range regimes {
		compliant, applicable = compliant+r.ByStatus["compliant"], applicable+r.Total-r.ByStatus["not_applicable"]
	}
	if applicable > 0 {
		state.Summary = ui.FormatNumber(compliant) + " of " + ui.FormatNumber(applicable) + " met (" + ui.FormatPercent(compliant*100/applicable) + ")"
	}
	return state
}
