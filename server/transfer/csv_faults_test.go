package transfer_test

import (
	"strings"
	"testing"

	"govsvc/server/transfer"
)

func TestCSV_Faults(t *testing.T) {
	t.Parallel()
	s := untouched(t)
	const (
		notRead = "; what follows was not read"
		date    = " must be a date such as 2026-12-31, "
		saved   = ": give the column the format YYYY-MM-DD and save the file again"
		shown   = date + "not a date in a spreadsheet's form" + saved
		counted = date + "not a spreadsheet's number of a day" + saved
		comma   = " must be a number such as 1234.5: no comma, the decimal sign is a point"
		plain   = " must be a number such as 1234.5, with nothing around or inside it"
	)
	cell := func(column, cell, reason string) (string, []found) {
		return "risk_id;description;" + column + "\nR;d;" + cell + "\n", []found{{2, "risk", column, column + reason}}
	}
	type row struct {
		name, object, text string
		want               []found
	}
	rows := []row{
		{"no type", "", riskHeader + "\nR,d\n", []found{{1, "", "", "the header has no column object: say which type the rows are of (--type)" + notRead}}},
		{"no header", "risk", "R,d\nS,e\n", []found{{1, "", "", "the first row must contain the names of the columns: object, id, risk_id, …"}}},
		{"an unknown column", "risk", riskHeader + ",titel\nR,d,x\n", []found{{1, "", "titel", "titel is not a member of type risk, which has object, id, risk_id, …"}}},
		{"a column by another case", "risk", riskHeader + ",Title\n", []found{{1, "", "Title", "Title is not a member of type risk, …"}}},
		{"an unknown column among many types", "", "object," + riskHeader + ",titel\nrisk,R,d,x\n", []found{{1, "", "titel", "titel is not a member of any type"}}},
		{"a column of another type", "", "object," + riskHeader + ",vendor_key\nrisk,R,d,x\n", []found{{2, "risk", "vendor_key", "vendor_key is not a member of type risk: leave the cell empty"}}},
		{"an empty file", "risk", "", []found{{1, "", "", "the source is empty: its first row must contain the names of the columns"}}},
		{"blank lines alone", "risk", "\ufeff\n\r\n", []found{{1, "", "", "the source is empty: its first row must contain the names of the columns"}}},
		{"a column twice", "risk", "risk_id,description,risk_id\nR,d,S\n", []found{{1, "", "risk_id", "risk_id is a column twice"}}},
		{"a missing column, once for all rows", "risk", "risk_id,title\nR,t\nS,t\n", []found{{1, "", "description", "description is required, and the header has no such column: a record of type risk needs it"}}},
		{"a missing column of one of the types", "", "object,risk_id\nrisk,R\nvendor,\nvendor,\nrisk,S\n", []found{
			{1, "", "description", "description is required, …"},
			{1, "", "vendor_key", "vendor_key …"},
			{1, "", "vendor_name", "vendor_name …"},
			{1, "", "category", "category …"},
			{1, "", "initial_risk_band", "initial_risk_band …"},
		}},
		{"an unknown type", "", "object,risk_id\nrisks,R\n,S\n", []found{
			{2, "", "object", "object must be one of assessment, risk, …"}, {3, "", "object", "object is required: it names the record's type"},
		}},
		{"another type than said", "risk", "object," + riskHeader + "\nvendor,R,d\n", []found{{2, "risk", "object", "object must be risk, as is said of all rows, or empty"}}},
		{"a required cell is empty", "risk", riskHeader + "\nR,\n", []found{{2, "risk", "description", "description is required"}}},
		{"too few cells", "risk", riskHeader + ",title\nR,d\n", []found{{2, "", "title", "title has no cell: the header has 3 and the row 2"}}},
		{"too many cells", "risk", riskHeader + "\nR,d,e\n", []found{{2, "", "", "the row has 3 cells and the header 2: a text with the separator in it must be in quotation marks"}}},
		{"a cell under no name", "risk", riskHeader + ",\nR,d,e\n", []found{{2, "risk", "", "cell 3 has no name in the header"}}},
		{"a quotation mark inside", "risk", riskHeader + "\nR,5\" pipe\nS,d,e\n", []found{
			{2, "", "description", "description has a quotation mark in it: put the text in quotation marks and double those inside"},
			{3, "", "", "the row has 3 cells …"},
		}},
		{"text after quotes", "risk", riskHeader + "\nR,\"5\" pipe\nS,\n", []found{
			{2, "", "description", "description has text after its closing quotation mark; a quotation mark in a text is doubled"}, {3, "risk", "description", "description is required"},
		}},
		{"quotes that never close", "risk", riskHeader + "\nR,\"a\nb\nc\n", []found{{2, "", "description", "description has no closing quotation mark"}}},
		{"quotes that never close, in a long file", "risk", riskHeader + "\nR,\"" + strings.Repeat("abcdefg\n", 1<<18), []found{{2, "", "description", "description has no closing quotation mark"}}},
		{"quotes that never close in the header", "risk", "risk_id,\"description\nR,d", []found{{1, "", "", "cell 2 has no closing quotation mark"}}},
		{"a long row among others", "risk", riskHeader + "\nR," + strings.Repeat("x", 1<<20) + "\nS,\n", []found{
			{2, "", "", "the record is longer than 1 MiB; nothing of that size is kept"}, {3, "risk", "description", "description is required"},
		}},
		{"a row of nothing but cells", "risk", riskHeader + "\nR," + strings.Repeat(",", 3<<20) + "x\n", []found{{2, "", "", "the record is longer than 1 MiB; …"}}},
		{"the lines of rows over many lines", "risk", "\r\n" + riskHeader + ",severity\r\n\r\nR,\"a\r\nb\rc\",X\r\nS,d,Y", []found{
			{4, "risk", "severity", "severity must be one of CRITICAL, HIGH, MEDIUM, LOW or null"}, {7, "risk", "severity", "severity must be one of …"},
		}},
		{"Latin-1", "risk", riskHeader + "\nR,M\xfcll\n", []found{{2, "risk", "description", `description is not UTF-8: save the file as "CSV UTF-8"`}}},
		{"UTF-16", "risk", "\xff\xfer\x00i\x00", []found{{1, "", "", `the file is UTF-16: save it as UTF-8, a spreadsheet as "CSV UTF-8"` + notRead}}},
		{"too long a text", "risk", riskHeader + "\n" + strings.Repeat("x", 201) + ",d\n", []found{{2, "risk", "risk_id", "risk_id must have at most 200 characters"}}},
		{"a NUL", "risk", riskHeader + "\nR,\x00\n", []found{{2, "risk", "description", "description must not contain the NUL character"}}},
		{"several in a row, and in several", "risk", riskHeader + ",severity,target_date\n,,X,46022\nR,,,\n", []found{
			{2, "risk", "target_date", "target_date" + counted},
			{2, "risk", "risk_id", "risk_id is required"},
			{2, "risk", "description", "description is required"},
			{2, "risk", "severity", "severity must be …"},
			{3, "risk", "description", "description is required"},
		}},
		{"a boolean of another language", "incident", "incident_key,title,notification_required\nI,t,WAHR\n", []found{{2, "incident", "notification_required", "notification_required must be true or false"}}},
		{"a timestamp of a spreadsheet", "incident", "incident_key,title,notified_at\nI,t,2026-12-31 00:00:00\n", []found{
			{2, "incident", "notified_at", "notified_at must be a timestamp such as 2026-12-31T08:30:00Z, not a date in a spreadsheet's form: give the column the format text and save the file again"},
		}},
		{"a timestamp that is a date", "incident", "incident_key,title,notified_at\nI,t,2026-12-31\n", []found{{2, "incident", "notified_at", "notified_at must be an RFC 3339 timestamp …"}}},
		{"not JSON", "incident", "incident_key,title,timeline\nI,t,open\n", []found{{2, "incident", "timeline", `timeline must be JSON such as [{"name":"value"}]`}}},
		{"not an object", "roadmap", "version_number,generated_at,framework_blend\n1,2026-01-01T00:00:00Z,open\n", []found{{2, "roadmap", "framework_blend", `framework_blend must be JSON such as {"name":"value"}`}}},
		{"JSON of another type", "incident", "incident_key,title,timeline\nI,t,{}\n", []found{{2, "incident", "timeline", "timeline must be an array"}}},
		{"JSON with a fault inside", "incident", "incident_key,title,timeline\nI,t,\"[{\"\"at\"\":\"\"x\"\",\"\"status\"\":\"\"open\"\"}]\"\n", []found{{2, "incident", "timeline[0].at", "timeline[0].at must be …"}}},
		{"an empty item", "assessment", "completed_at;methodology_version;frameworks_applied\n2026-01-01T00:00:00Z;1;\"a;;b\"\n", []found{{2, "assessment", "frameworks_applied", `frameworks_applied has an empty item: leave out the ";" before or after it`}}},
		{"a whole number with a part", "roadmap", "version_number,generated_at\n1.5,2026-01-01T00:00:00Z\n", []found{{2, "roadmap", "version_number", "version_number must be an integer of at least 0"}}},
		{"a whole number with a comma", "roadmap", "version_number,generated_at\n\"1,0\",2026-01-01T00:00:00Z\n", []found{{2, "roadmap", "version_number", "version_number must be a whole number such as 1234: no comma, the decimal sign is a point"}}},
		{"what only the store knows", "milestone", "milestone_key,title,phase,sequence,status,rag_status,owner_role\nm,t,p,1,blocked,RED,o\n", []found{
			{2, "milestone", "roadmap_version", "there is no roadmap yet; import one first"},
		}},
	}
	for text, reason := range map[string]string{
		"31.12.2026": shown, "12/31/2026": shown, "31/12/26": shown, "2026/12/31": shown, "2026-12-31 00:00:00": shown, "1.1.2026 00:00": shown, "31-Dec-2026": shown, "2026-1-1": shown,
		"46022": counted, "46022.5": counted, "tomorrow": " must be a date (YYYY-MM-DD) or null", "2026-12-31T00:00:00Z": " must be a date (YYYY-MM-DD) or null",
	} {
		file, want := cell("target_date", text, reason)
		rows = append(rows, row{"the date " + text, "risk", file, want})
	}
	for text, reason := range map[string]string{
		"1,5": comma, "1.234,50": comma, "1,234.50": comma, "1 000": plain, "1'000": plain, "$5": plain, "5 %": plain, "+5": plain, ".5": plain, "007": plain, "NaN": plain, `"""5"""`: plain, "true": plain, "[1]": plain, "TRUE": plain,
	} {
		file, want := cell("financial_exposure_min", text, reason)
		rows = append(rows, row{"the number " + text, "risk", file, want})
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			compareFaults(t, row.want, s.refuse(t, "x.csv", row.text, transfer.Options{Type: row.object}))
		})
	}
}

// TestCSV_FaultsThatFollow checks that only the KPI without a required column is
// reported. The check-ins that refer to this KPI add no further errors.
func TestCSV_FaultsThatFollow(t *testing.T) {
	t.Parallel()
	s := untouched(t)
	kpis := transfer.Bytes("kpis.csv", []byte("object,code,statement,metric_name,unit,direction,measurement_frequency,status\nkpi,K,s,m,%,increase,monthly,active\n"))
	checkins := transfer.Bytes("checkins.csv", []byte("object,key_result_code,period_start,value\nkpi_checkin,K,2026-01-01,1\n"))
	report, err := s.try(transfer.Options{}, kpis, checkins)
	if err == nil || len(report.Errors) != 1 || report.Errors[0].Member != "target_value" || report.Errors[0].Source != "kpis.csv" {
		t.Errorf("%+v, %v", report.Errors, err)
	}
}
