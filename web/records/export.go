package records

import (
	"strings"
	"time"

	"govsvc/db/dashboard"
	"govsvc/server/api"
	"govsvc/server/transfer"
	"govsvc/web/page"
)

// downloads are the links to the CSV files of a view.
type downloads struct{ All, Shown string }

func (p *Pages) downloads(view listView) downloads {
	shown := view
	shown.address = columnNames(view.columns)
	return downloads{view.path(p.Page.Base + ".csv"), shown.path(p.Page.Base+".csv", "only", "shown")}
}

// Export sends the records of a view as CSV. The file has all members of the records or,
// with only=shown, those of the columns. It is named by the list and the day. Both can be
// imported again: an import keeps the members without a column.
func (p *Pages) Export(r *page.Request) error {
	view := p.view(r.HTTP.URL.Query(), dashboard.ListSettings{})
	name := strings.ReplaceAll(strings.Trim(p.Page.Base, "/"), "/", "-") + "-" + r.Store.Now().UTC().Format(time.DateOnly) + ".csv"
	download := r.NewDownload(name, "text/csv; charset=utf-8", 0)
	var members []string
	if r.Query("only") == "shown" {
		for _, column := range view.columns {
			members = append(members, column.Name)
		}
	}
	sheet, err := transfer.NewSheetWriter(r.Document, p.Type, download, members...)
	if err != nil {
		return err
	}
	err = api.ExportView(r.Context(), r.Caller, p.Type, view.View, sheet.Write)
	if err == nil {
		err = sheet.Flush()
	}
	return download.End(err)
}
