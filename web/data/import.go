// Package data has the pages that import records and file evidence packs: the group
// "Data" of the navigation.
package data

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/server/transfer"
	"govsvc/web/page"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// Bounds of an import through the dashboard. The command line imports larger files.
const (
	MaxImport          = 64 << 20         // bytes of a file
	checkedFor         = 15 * time.Minute // time between the check and the import of a file
	checkedFiles       = 8                // checked files of all users
	checkedFilesOfUser = 2
	answerTimeout      = 10 * time.Minute // of a request, with the wait for its turn
	importTimeout      = 30 * time.Second // of a check or an import alone: it delays other writers
	largeImport        = 4 << 20          // bytes after which the write-ahead log is checkpointed
	errorsOnPage       = 200
)

// checkedImport is a checked file that waits for its import.
type checkedImport struct {
	page.File
	options transfer.Options
	user    string // owner
	org     db.Org
	report  transfer.Report
	ends    time.Time
}

// importData is the argument of the page "Import".
type importData struct {
	Form      *ui.Form
	Templates []ui.Link
	Report    *importReport
}

// importReport is the result of the check of a file.
type importReport struct {
	Name        string
	Records     int
	Errors      int
	Table       ui.Table // of counts, or of errors
	More        int      // errors without a row
	Changes     bool     // the import would write something
	Preview     []previewPart
	DataChanged bool // the data changed after the last preview
	Import      *ui.Form
	Ends        string // time when the checked file expires
}

// Imports has the pages that check and import files. One file is checked or
// imported at a time, because each locks the data file for writing.
type Imports struct {
	// Timeout bounds each check and each import.
	Timeout time.Duration
	turn    chan struct{}
	checked *page.Tickets[*checkedImport]
}

// NewImports keeps checked files until they are imported or expire.
func NewImports(now func() time.Time) *Imports {
	i := &Imports{Timeout: importTimeout, turn: make(chan struct{}, 1), checked: page.NewTickets[*checkedImport](now, checkedFor, checkedFiles)}
	i.checked.OnDrop = func(c *checkedImport) { _ = c.Release() }
	return i
}

// errImportTimeout ends an import that delays other writers for too long.
var errImportTimeout = page.NewProblem(http.StatusRequestEntityTooLarge,
	"This file takes too long: others can't write while it is imported, so that nothing of it was written. Split it, or run govsvc import on the machine of the service at a quiet time.")

// run waits for its turn and imports a file.
func (i *Imports) run(r *page.Request, file *checkedImport, options transfer.Options) (transfer.Report, error) {
	ctx := r.Context()
	select {
	case i.turn <- struct{}{}:
	case <-ctx.Done():
		return transfer.Report{}, ctx.Err()
	}
	defer func() { <-i.turn }()
	if file.Size >= largeImport { // its error does not change the result of the import
		defer func() { _ = r.Store.File.Checkpoint(context.WithoutCancel(ctx)) }()
	}
	alone, cancel := context.WithTimeoutCause(ctx, i.Timeout, errImportTimeout)
	defer cancel()
	report, err := transfer.Import(alone, r.Store, r.Document, r.Actor(), []transfer.Source{file.Source}, options)
	if err != nil && errors.Is(context.Cause(alone), errImportTimeout) {
		err = errImportTimeout
	}
	return report, err
}

// importForm returns the form for a file.
func importForm() *ui.Form {
	return &ui.Form{Action: "/import", Submit: "Check file", Uploads: true, Fields: []*ui.Field{
		{
			Name: "type", Label: "Record type", Type: "select", Options: ui.Options(resource.Types()...),
			Hint: "For CSV files without the column “object”. Records of other files contain their type.",
		},
		{
			Name: "file", Label: "File", Type: "file", Required: true, Accept: ".ndjson,.jsonl,.json,.csv,.tsv",
			Hint: fmt.Sprintf("NDJSON, JSON or CSV, at most %s. You see a preview before anything is written.", ui.FormatMegabytes(MaxImport)),
		},
	}}
}

// Show returns the page "Import".
func (i *Imports) Show(r *page.Request) error {
	return r.Render("import", "Import", newImportData(importForm()))
}

func newImportData(form *ui.Form) importData {
	data := importData{Form: form}
	for _, object := range resource.Types() {
		data.Templates = append(data.Templates, ui.Link{Label: ui.Humanize(object), Path: "/import/templates" + ui.Path(object+".csv")})
	}
	return data
}

// Template sends a CSV file with the header row of a type.
func (i *Imports) Template(r *page.Request) error {
	object, ok := strings.CutSuffix(r.PathValue("file"), ".csv")
	if !ok || !slices.Contains(resource.Types(), object) {
		return &page.NotFound
	}
	file := r.NewDownload(object+".csv", "text/csv; charset=utf-8", 0)
	out := csv.NewWriter(file)
	_ = out.Write(transfer.Template(r.Document, object)) // Error returns the error
	out.Flush()
	return file.End(out.Error())
}

// Check checks a file and redirects to the preview of its import.
func (i *Imports) Check(r *page.Request) error {
	values, files, err := r.Upload("file", 1)
	kept := false
	defer func() {
		if !kept {
			page.ReleaseAll(files)
		}
	}()
	var large *page.Problem
	if errors.As(err, &large) && large.Status == http.StatusRequestEntityTooLarge {
		large.Advice = "A file of at most " + ui.FormatMegabytes(MaxImport) + " can be imported here. On the machine of the service, govsvc import accepts larger files."
	}
	if err != nil {
		return err
	}
	form := importForm()
	form.Field("type").Value = values["type"]
	file, err := readImport(r, values, files)
	if err != nil {
		return renderImportError(r, form, err)
	}
	r.ExtendDeadlines(answerTimeout)
	options := file.options
	options.DryRun, options.Preview = true, true
	report, err := i.run(r, file, options)
	var refused *transfer.RefusedError
	if err != nil && !errors.As(err, &refused) {
		return renderImportError(r, form, err)
	}
	if refused != nil {
		data := newImportData(form)
		data.Report = newImportReport(file.Name, report, refused)
		return r.RenderStatus(http.StatusUnprocessableEntity, "import", "Import", data)
	}
	kept = true
	return r.Redirect(i.keep(r, file, report))
}

// keep stores a checked file with its preview, and returns the path of the preview.
func (i *Imports) keep(r *page.Request, file *checkedImport, report transfer.Report) string {
	file.report, file.ends = report, r.Store.Now().Add(checkedFor)
	i.checked.MakeRoom(checkedFilesOfUser, func(c *checkedImport) bool { return c.user == file.user })
	return "/import" + ui.Path(i.checked.Put(file))
}

// checkedFile returns the checked file of the ticket in the URL.
func (i *Imports) checkedFile(r *page.Request) (*checkedImport, error) {
	file, ok := i.checked.Peek(r.PathValue("ticket"))
	if !ok || file.user != r.Session.User.ID || file.org != r.Session.Organisation.Org {
		return nil, &page.Problem{Status: http.StatusGone, Title: "This preview has expired", Advice: "A checked file is kept for 15 minutes and for one import. Check the file again."}
	}
	return file, nil
}

// Preview shows the effect of the import of a checked file, with the button that
// imports it.
func (i *Imports) Preview(r *page.Request) error {
	file, err := i.checkedFile(r)
	if err != nil {
		return err
	}
	return r.Render("import", "Import", newPreviewData(file, r.HTTP.URL.Path))
}

// newPreviewData shows a checked file. path is that of its import.
func newPreviewData(file *checkedImport, path string) importData {
	data := newImportData(importForm())
	data.Report = newImportReport(file.Name, file.report, nil)
	data.Report.Ends = db.Timestamp(file.ends)
	data.Report.Preview = previewParts(file.report)
	if data.Report.Changes {
		data.Report.Import = importButton(file.report, path)
	}
	return data
}

// readImport returns the uploaded file with the options of its import.
func readImport(r *page.Request, values map[string]string, files []page.File) (*checkedImport, error) {
	invalid := func(param, message string) error {
		return &api.Error{Code: api.InvalidParameter, Param: param, Message: message}
	}
	object := values["type"]
	switch {
	case len(files) == 0:
		return nil, invalid("file", "choose a file")
	case files[0].Size == 0:
		return nil, invalid("file", "this file is empty")
	case object != "" && !slices.Contains(resource.Types(), object):
		return nil, invalid("type", "choose a type of the list")
	}
	file := &checkedImport{File: files[0], user: r.Session.User.ID, org: r.Session.Organisation.Org}
	file.options.RequireReasons = true
	// records of formats other than CSV contain their type
	if format := file.options.FormatOf(file.Name); format == transfer.CSV || format == "" && object != "" {
		file.options.Type = object
	}
	return file, nil
}

// renderImportError shows the form again with an error.
func renderImportError(r *page.Request, form *ui.Form, err error) error {
	status, err := page.SetFormError(form, err)
	if err != nil {
		return err
	}
	return r.RenderStatus(status, "import", "Import", newImportData(form))
}

// newImportReport formats the report of a check.
func newImportReport(name string, report transfer.Report, refused *transfer.RefusedError) *importReport {
	view := &importReport{Name: name, Records: report.Records}
	if refused != nil {
		view.Errors = refused.Total
		listed := report.Errors[:min(len(report.Errors), errorsOnPage)]
		view.More = refused.Total - len(listed)
		view.Table = ui.Table{
			Caption: "Errors in " + name,
			Columns: []ui.Column{{Label: "Line"}, {Label: "Type"}, {Label: "Column", Kind: ui.Code}, {Label: "Reason", Kind: ui.Long}},
		}
		for _, fault := range listed {
			// in the table, an empty cell is null
			reason := ui.Sentence(strings.ReplaceAll(strings.TrimPrefix(fault.Reason, fault.Member+" "), " or null", ", or empty"))
			view.Table.Rows = append(view.Table.Rows, ui.Row{Cells: []any{fault.Line, ui.Humanize(fault.Type), fault.Member, reason}})
		}
		return view
	}
	view.Table = ui.Table{
		Caption: "Effect of the import of " + name,
		Columns: []ui.Column{{Label: "Type"}, {Label: "New", Kind: ui.Number}, {Label: "Changed", Kind: ui.Number}, {Label: "Unchanged", Kind: ui.Number}},
	}
	for _, count := range report.Types {
		view.Changes = view.Changes || count.Created+count.Updated > 0
		view.Table.Rows = append(view.Table.Rows, ui.Row{Cells: []any{ui.Humanize(count.Type), count.Created, count.Updated, count.Unchanged}})
	}
	return view
}

// Import imports the checked bytes, with exactly the effect of the preview.
func (i *Imports) Import(r *page.Request) error {
	file, err := i.checkedFile(r)
	if err != nil {
		return err
	}
	options := file.options
	options.Expect = file.report.Preview.Digest
	if file.report.Preview.LacksReason > 0 {
		reason, invalid := transfer.CheckReason(r.Value(records.ReasonField))
		if invalid != "" {
			data := newPreviewData(file, r.HTTP.URL.Path)
			data.Report.Import.Fill(r.HTTP.PostForm).SetError(records.ReasonField, ui.Sentence("The reason "+invalid))
			return r.RenderStatus(http.StatusUnprocessableEntity, "import", "Import", data)
		}
		options.Reason = reason
	}
	if _, ok := i.checked.Take(r.PathValue("ticket")); !ok { // a second request with the same ticket
		return r.Redirect("/import")
	}
	kept := false
	defer func() {
		if !kept {
			_ = file.Release()
		}
	}()
	r.ExtendDeadlines(answerTimeout)
	report, err := i.run(r, file, options)
	var refused *transfer.RefusedError
	switch {
	case errors.Is(err, transfer.ErrStalePreview):
		kept = true
		path := i.keep(r, file, report)
		data := newPreviewData(file, path)
		data.Report.DataChanged = true
		if data.Report.Import != nil {
			data.Report.Import.Fill(r.HTTP.PostForm)
		}
		return r.RenderStatus(http.StatusConflict, "import", "Import", data)
	case errors.As(err, &refused): // the data changed after the check
		data := newImportData(importForm())
		data.Report = newImportReport(file.Name, report, refused)
		return r.RenderStatus(http.StatusUnprocessableEntity, "import", "Import", data)
	case err != nil:
		return err
	}
	return r.RedirectWithMessage("/import", "Imported "+ui.Plural(report.Records, "record", "records")+" from "+file.Name+": "+summary(report)+".")
}

// summary counts the changes of an import.
func summary(report transfer.Report) string {
	var created, updated, unchanged int
	for _, count := range report.Types {
		created, updated, unchanged = created+count.Created, updated+count.Updated, unchanged+count.Unchanged
	}
	return fmt.Sprintf("%s new, %s changed, %s unchanged", ui.FormatNumber(created), ui.FormatNumber(updated), ui.FormatNumber(unchanged))
}
