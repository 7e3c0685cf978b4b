package resource

// Sort is an order of the dashboard's list: by a member, whose column has the
// same name.
type Sort struct {
	Member string
	Kind   SortKind
	Values []string // of SortRank, least first; a value that is not listed counts as none
}

// SortKind says how the values of a column are compared.
type SortKind int

// The kinds of order. A record without a value comes last, in both directions.
const (
	SortStored SortKind = iota // a column that is never null, so that an index may serve the order
	SortText                   // regardless of case
	SortTime
	SortNumber
	SortRank
)

func byStored(member string) Sort { return Sort{Member: member, Kind: SortStored} }

func byText(member string) Sort { return Sort{Member: member, Kind: SortText} }

func byTime(member string) Sort { return Sort{Member: member, Kind: SortTime} }

func byNumber(member string) Sort { return Sort{Member: member, Kind: SortNumber} }

// byRank orders an enumeration whose values are a scale.
func byRank(member string, values ...string) Sort {
	return Sort{Member: member, Kind: SortRank, Values: values}
}

// Scales that several resources use, least first. The OpenAPI document has the
// same values.
var (
	// Severities are the bands of severity, priority and risk.
	Severities = []string{"LOW", "MEDIUM", "HIGH", "CRITICAL"}
	// Likelihoods are those of a risk.
	Likelihoods = []string{"RARE", "UNLIKELY", "POSSIBLE", "LIKELY", "ALMOST_CERTAIN"}

	ragColours = []string{"GREEN", "AMBER", "RED"}
)
