package web

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
	"govsvc/db/auth"
	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/server/transfer"
	"govsvc/web/ui"
)

// Bounds of an import through the dashboard. Larger files go through the
// command line.
const (
	maxImport    = 64 << 20 // bytes of a file
	importKept   = 15 * time.Minute
	importsKept  = 8                // checked files that wait for their import, all users together
	importsEach  = 2                // of them of one user
	importTime   = 10 * time.Minute // waiting for its turn included
	importAlone  = 30 * time.Second // of it alone: other writers wait meanwhile, and soon give up
	longImport   = 4 << 20          // bytes after which the journal is put back into the data file
	faultsOnPage = 200
)

// checkedImport is a file that has been checked and waits for its import.
type checkedImport struct {
	uploaded
	options transfer.Options
	user    string // whom it waits for
	org     db.Org
	report  transfer.Report
	ends    time.Time
}

// importData is what the page of imports shows.
type importData struct {
	Form      *ui.Form
	Templates []ui.Link
	Report    *importReport
}

// importReport is what the check of a file has found.
type importReport struct {
	Name    string
	Records int
	Faults  int
	Table   ui.Table // of counts, or of faults
	More    int      // faults that are not listed
	Changes bool     // there is something to write
	Preview []previewPart
	Moved   bool // the data has changed since an earlier preview
	Import  *ui.Form
	Ends    string // until when the file is kept
}

// importing lets one file at a time be checked or written: each takes the
// whole data file for itself.
type importing struct {
	turn    chan struct{}
	longest time.Duration // that each may take
	kept    *held[*checkedImport]
}

func newImporting(now func() time.Time) *importing {
	i := &importing{turn: make(chan struct{}, 1), longest: importAlone, kept: newHeld[*checkedImport](now, importKept, importsKept)}
	i.kept.drop = func(c *checkedImport) { _ = c.release() }
	return i
}

// errLongImport ends an import that holds up everybody else.
var errLongImport = &problem{
	http.StatusRequestEntityTooLarge, titles[http.StatusRequestEntityTooLarge],
	"This file takes too long: others can't write while it is imported, so that nothing of it was written. Split it, or run govsvc import on the machine of the service at a quiet time.",
}

// run imports, in turn.
func (i *importing) run(ctx context.Context, v *visit, file *checkedImport, options transfer.Options) (transfer.Report, error) {
	select {
	case i.turn <- struct{}{}:
	case <-ctx.Done():
		return transfer.Report{}, ctx.Err()
	}
	defer func() { <-i.turn }()
	if file.Size >= longImport { // what comes of the import stands without it
		defer func() { _ = v.Store.Checkpoint(context.WithoutCancel(ctx)) }()
	}
	alone, cancel := context.WithTimeoutCause(ctx, i.longest, errLongImport)
	defer cancel()
	report, err := transfer.Import(alone, v.Store, v.Document, v.by(), []transfer.Source{file.Source}, options)
	if err != nil && errors.Is(context.Cause(alone), errLongImport) {
		err = errLongImport
	}
	return report, err
}

// importForm asks for a file.
func importForm() *ui.Form {
	return &ui.Form{Action: "/import", Submit: "Check the file", Uploads: true, Fields: []*ui.Field{
		{
			Name: "type", Label: "Type of the rows", Type: "select", Options: ui.Options(resource.Types()...),
			Hint: "For CSV without a column “object”. Other files name the type of each record themselves.",
		},
		{
			Name: "file", Label: "File", Type: "file", Required: true, Accept: ".ndjson,.jsonl,.json,.csv,.tsv",
			Hint: fmt.Sprintf("NDJSON, JSON or CSV, at most %s. Nothing is written before you have seen what it would do.", ui.FormatMegabytes(maxImport)),
		},
	}}
}

// importPage shows the form for a file.
func (v *visit) importPage() error { return v.render("import", "Import", v.importData(importForm())) }

func (v *visit) importData(form *ui.Form) importData {
	data := importData{Form: form}
	for _, object := range resource.Types() {
		data.Templates = append(data.Templates, ui.Link{Label: ui.Humanize(object), Path: "/import/templates" + ui.Path(object+".csv")})
	}
	return data
}

// importTemplate answers with a CSV that has the header row alone.
func (v *visit) importTemplate() error {
	object, ok := strings.CutSuffix(v.r.PathValue("file"), ".csv")
	if !ok || !slices.Contains(resource.Types(), object) {
		return &nothingHere
	}
	file := &download{visit: v, name: object + ".csv", contentType: "text/csv; charset=utf-8"}
	out := csv.NewWriter(file)
	_ = out.Write(transfer.Template(v.Document, object)) // Error tells
	out.Flush()
	return file.end(out.Error())
}

// checkImport takes a file and says what its import would do.
func (v *visit) checkImport() error {
	values, files, err := v.upload("file", 1)
	kept := false
	defer func() {
		if !kept {
			releaseAll(files)
		}
	}()
	var large *problem
	if errors.As(err, &large) && large.status == http.StatusRequestEntityTooLarge {
		large.advice = "A file of at most " + ui.FormatMegabytes(maxImport) + " can be imported here. On the machine of the service, govsvc import takes larger ones."
	}
	if err != nil {
		return err
	}
	form := importForm()
	form.Field("type").Value = values["type"]
	file, err := v.importOf(values, files)
	if err != nil {
		return v.refuseImport(form, err)
	}
	v.unhurried(importTime)
	options := file.options
	options.DryRun, options.Preview = true, true
	report, err := v.imports.run(v.r.Context(), v, file, options)
	var refused *transfer.Refused
	if err != nil && !errors.As(err, &refused) {
		return v.refuseImport(form, err)
	}
	if refused != nil {
		data := v.importData(form)
		data.Report = shownReport(file.Name, report, refused)
		return v.renderStatus(http.StatusUnprocessableEntity, "import", "Import", data)
	}
	kept = true
	v.redirect(v.keepImport(file, report))
	return nil
}

// keepImport keeps a checked file with its preview, and returns its path.
func (v *visit) keepImport(file *checkedImport, report transfer.Report) string {
	file.report, file.ends = report, v.Store.Now().Add(importKept)
	v.imports.kept.limit(importsEach, func(c *checkedImport) bool { return c.user == file.user })
	return "/import" + ui.Path(v.imports.kept.put(file))
}

// checkedFile is the file that has been checked under the address's ticket.
func (v *visit) checkedFile() (*checkedImport, error) {
	file, ok := v.imports.kept.look(v.r.PathValue("ticket"))
	if !ok || file.user != v.session.User.ID || file.org != v.session.Organisation.Org {
		return nil, &problem{http.StatusGone, "This check is over", "A checked file is kept for 15 minutes and for one import. Check the file again, and import it then."}
	}
	return file, nil
}

// importChecked shows what the import of a checked file would do, and the
// button that does it.
func (v *visit) importChecked() error {
	file, err := v.checkedFile()
	if err != nil {
		return err
	}
	return v.render("import", "Import", v.checkedData(file, v.r.URL.Path))
}

// checkedData shows a checked file, with the form at the path that imports it.
func (v *visit) checkedData(file *checkedImport, path string) importData {
	data := v.importData(importForm())
	data.Report = shownReport(file.Name, file.report, nil)
	data.Report.Ends = db.Timestamp(file.ends)
	data.Report.Preview = previewParts(file.report)
	if data.Report.Changes {
		data.Report.Import = confirmForm(file.report, path)
	}
	return data
}

// importOf is the file of the form and how it is to be read.
func (v *visit) importOf(values map[string]string, files []uploaded) (*checkedImport, error) {
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
		return nil, invalid("type", "choose one of the types")
	}
	file := &checkedImport{uploaded: files[0], user: v.session.User.ID, org: v.session.Organisation.Org}
	file.options.RequireReasons = true
	// the type is about CSV alone: of other files each record has its own
	if format := file.options.FormatOf(file.Name); format == transfer.CSV || format == "" && object != "" {
		file.options.Type = object
	}
	return file, nil
}

// refuseImport shows the form again, with what is wrong with the file.
func (v *visit) refuseImport(form *ui.Form, err error) error {
	status, err := setFormError(form, err)
	if err != nil {
		return err
	}
	return v.renderStatus(status, "import", "Import", v.importData(form))
}

// shownReport is a check's report for people.
func shownReport(name string, report transfer.Report, refused *transfer.Refused) *importReport {
	shown := &importReport{Name: name, Records: report.Records}
	if refused != nil {
		shown.Faults = refused.Total
		listed := report.Faults[:min(len(report.Faults), faultsOnPage)]
		shown.More = refused.Total - len(listed)
		shown.Table = ui.Table{
			Caption: "What is wrong with " + name,
			Columns: []ui.Column{{Label: "Line"}, {Label: "Type"}, {Label: "Member", Kind: ui.Code}, {Label: "Reason", Kind: ui.Long}},
		}
		for _, fault := range listed {
			reason := ui.Sentence(strings.TrimPrefix(fault.Reason, fault.Member+" "))
			shown.Table.Rows = append(shown.Table.Rows, ui.Row{Cells: []any{fault.Line, ui.Humanize(fault.Type), fault.Member, reason}})
		}
		return shown
	}
	shown.Table = ui.Table{
		Caption: "What the import of " + name + " would do",
		Columns: []ui.Column{{Label: "Type"}, {Label: "New", Kind: ui.Number}, {Label: "Changed", Kind: ui.Number}, {Label: "As they are", Kind: ui.Number}},
	}
	for _, count := range report.Types {
		shown.Changes = shown.Changes || count.Created+count.Updated > 0
		shown.Table.Rows = append(shown.Table.Rows, ui.Row{Cells: []any{ui.Humanize(count.Type), count.Created, count.Updated, count.Unchanged}})
	}
	return shown
}

// writeImport imports the very bytes that were checked, with the effect that
// the preview showed.
func (v *visit) writeImport() error {
	file, err := v.checkedFile()
	if err != nil {
		return err
	}
	options := file.options
	options.Expect = file.report.Preview.Digest
	if file.report.Preview.LacksReason > 0 {
		reason, wrong := transfer.CheckedReason(v.value(reasonField))
		if wrong != "" {
			data := v.checkedData(file, v.r.URL.Path)
			data.Report.Import.Fill(v.r.PostForm).SetError(reasonField, ui.Sentence("The reason "+wrong))
			return v.renderStatus(http.StatusUnprocessableEntity, "import", "Import", data)
		}
		options.Reason = reason
	}
	if _, ok := v.imports.kept.take(v.r.PathValue("ticket")); !ok { // sent twice
		v.redirect("/import")
		return nil
	}
	kept := false
	defer func() {
		if !kept {
			_ = file.release()
		}
	}()
	v.unhurried(importTime)
	report, err := v.imports.run(v.r.Context(), v, file, options)
	var refused *transfer.Refused
	switch {
	case errors.Is(err, transfer.ErrMoved):
		kept = true
		path := v.keepImport(file, report)
		data := v.checkedData(file, path)
		data.Report.Moved = true
		if data.Report.Import != nil {
			data.Report.Import.Fill(v.r.PostForm)
		}
		return v.renderStatus(http.StatusConflict, "import", "Import", data)
	case errors.As(err, &refused): // what is stored has changed since the check
		data := v.importData(importForm())
		data.Report = shownReport(file.Name, report, refused)
		return v.renderStatus(http.StatusUnprocessableEntity, "import", "Import", data)
	case err != nil:
		return err
	}
	v.flash("Imported " + ui.Plural(report.Records, "record", "records") + " from " + file.Name + ": " + counted(report) + ".")
	v.redirect("/import")
	return nil
}

// counted sums a report up in a few words.
func counted(report transfer.Report) string {
	var created, updated, unchanged int
	for _, count := range report.Types {
		created, updated, unchanged = created+count.Created, updated+count.Updated, unchanged+count.Unchanged
	}
	return fmt.Sprintf("%s new, %s changed, %s as they were", ui.FormatNumber(created), ui.FormatNumber(updated), ui.FormatNumber(unchanged))
}

// importPages take files of records in.
func importPages() []page {
	return []page{
		{pattern: "GET /import", needs: auth.WriteRecords, do: (*visit).importPage},
		{pattern: "POST /import", needs: auth.WriteRecords, do: (*visit).checkImport, body: maxImport + maxForm, files: true},
		{pattern: "GET /import/{ticket}", needs: auth.WriteRecords, do: (*visit).importChecked},
		{pattern: "POST /import/{ticket}", needs: auth.WriteRecords, do: (*visit).writeImport},
		{pattern: "GET /import/templates/{file}", needs: auth.WriteRecords, do: (*visit).importTemplate, download: true},
	}
}
