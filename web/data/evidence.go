package data

import (
	"cmp"
	"net/http"
	"slices"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/server/evidence"
	"govsvc/web/page"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// maxPackFiles bounds the attachments of a pack.
const maxPackFiles = 50

// evidenceData is the argument of the page "Evidence".
type evidenceData struct {
	Actions []ui.Action
	Table   ui.Table
}

// packData is the argument of the page of a pack.
type packData struct {
	Pack    db.EvidencePack
	Crumbs  []ui.Link
	Actions []ui.Action
	Facts   []ui.Fact
	Verify  string // command that verifies the pack
}

// ListPacks lists the evidence packs.
func ListPacks(r *page.Request) error {
	packs, err := r.Store.Evidence.List(r.Context(), r.Session.Organisation.Org)
	if err != nil {
		return err
	}
	data := evidenceData{Table: ui.Table{
		Caption: "Evidence packs",
		Columns: []ui.Column{{Label: "Title"}, {Label: "Regime"}, {Label: "Items", Kind: ui.Number}, {Label: "Size", Kind: ui.Number}, {Label: "Filed", Kind: ui.Time}, {Label: "Filed by"}},
		Empty: ui.Empty{
			Title:  "No evidence packs yet",
			Advice: "A pack is one file with the state of compliance at one time: posture, obligations, risks, incidents, KPIs and attachments. It can be verified anywhere, years later.",
		},
	}}
	if r.May(auth.WriteRecords) {
		data.Actions = []ui.Action{{Label: "File pack", Path: "/evidence/new", Primary: true}}
		data.Table.Empty.Action = &data.Actions[0]
	}
	names, err := records.ActorNamesOf(r, packs, func(p db.EvidencePack) string { return p.FiledBy })
	if err != nil {
		return err
	}
	regimes, err := regimeNames(r)
	if err != nil {
		return err
	}
	for _, pack := range packs {
		data.Table.Rows = append(data.Table.Rows, ui.Row{
			Href:    ui.Path("evidence", pack.ID),
			Cells:   []any{pack.Title, regimeOf(pack, regimes), pack.ItemCount, ui.FormatBytes(pack.Size), pack.FiledAt, names[pack.FiledBy]},
			Actions: []ui.Action{{Label: "Download", Path: packPath(pack), About: pack.Title}},
		})
	}
	return r.Render("evidence", "Evidence", data)
}

func packPath(pack db.EvidencePack) string { return ui.Path("evidence", pack.ID) + "/pack.zip" }

// findPack returns the pack of the URL.
func findPack(r *page.Request) (db.EvidencePack, error) {
	packs, err := r.Store.Evidence.List(r.Context(), r.Session.Organisation.Org)
	if err != nil {
		return db.EvidencePack{}, err
	}
	at := slices.IndexFunc(packs, func(p db.EvidencePack) bool { return p.ID == r.PathValue("id") })
	if at < 0 {
		return db.EvidencePack{}, &page.NotFound
	}
	return packs[at], nil
}

// ShowPack shows a pack.
func ShowPack(r *page.Request) error {
	pack, err := findPack(r)
	if err != nil {
		return err
	}
	names, err := records.ActorNames(r, pack.FiledBy)
	if err != nil {
		return err
	}
	regimes, err := regimeNames(r)
	if err != nil {
		return err
	}
	return r.Render("evidence-pack", pack.Title, packData{
		Pack: pack, Crumbs: []ui.Link{{Label: "Evidence", Path: "/evidence"}},
		Actions: []ui.Action{{Label: "Download", Path: packPath(pack), Primary: true}},
		Facts: []ui.Fact{
			{Label: "Regime", Value: regimeOf(pack, regimes)},
			{Label: "Items", Kind: ui.Number, Value: pack.ItemCount},
			{Label: "Size", Value: ui.FormatBytes(pack.Size)},
			{Label: "Filed", Kind: ui.Time, Value: pack.FiledAt},
			{Label: "Filed by", Value: names[pack.FiledBy]},
			{Label: "ID", Kind: ui.Code, Value: pack.ID},
		},
		Verify: "govsvc evidence verify " + packName(pack) + " --sha256 " + pack.ManifestSHA256,
	})
}

// regimeNames returns the names of the regimes of the obligations, by id.
func regimeNames(r *page.Request) (map[string]string, error) {
	choices, _, err := api.FilterChoices(r.Context(), r.Caller, resource.Obligation.Type, api.Filter{Column: "regime_id"})
	names := map[string]string{}
	for _, choice := range choices {
		names[choice.Value] = choice.Name
	}
	return names, err
}

// regimeOf returns the name of the regime of a pack.
func regimeOf(pack db.EvidencePack, names map[string]string) string {
	if pack.RegimeID == nil {
		return "All regimes"
	}
	return cmp.Or(names[*pack.RegimeID], *pack.RegimeID)
}

// packName returns the file name of a pack.
func packName(pack db.EvidencePack) string { return "evidence-" + pack.ID + ".zip" }

// DownloadPack sends the ZIP file of a pack.
func DownloadPack(r *page.Request) error {
	pack, err := findPack(r)
	if err != nil {
		return err
	}
	file := r.NewDownload(packName(pack), "application/zip", pack.Size)
	_, err = r.Store.Evidence.Export(r.Context(), r.Actor(), pack.ID, file)
	return file.End(err)
}

// packForm returns the form for a new pack.
func packForm(r *page.Request) (*ui.Form, error) {
	var regimes []string
	err := r.Store.Snapshot(r.Context(), func(s *db.Snapshot) (err error) {
		regimes, err = s.Regimes(r.Context(), r.Session.Organisation.Org)
		return err
	})
	if err != nil {
		return nil, err
	}
	form := &ui.Form{Action: "/evidence", Submit: "File pack", Cancel: "/evidence", Uploads: true, Fields: []*ui.Field{
		{Name: "title", Label: "Title", Required: true, MaxLength: evidence.MaxTitle, Hint: "The purpose of the pack, such as “Supervisory review, third quarter”."},
	}}
	if len(regimes) > 0 {
		regime := &ui.Field{Name: "regime_id", Label: "Regime", Type: "select", Hint: "Choose none for the obligations of all regimes."}
		names, err := regimeNames(r)
		if err != nil {
			return nil, err
		}
		for _, id := range regimes {
			regime.Options = append(regime.Options, ui.Option{Value: id, Label: cmp.Or(names[id], id)})
		}
		form.Fields = append(form.Fields, regime)
	}
	form.Fields = append(form.Fields, &ui.Field{
		Name: "attachments", Label: "Attachments", Type: "file", Multiple: true,
		Hint: "Policies, minutes, reports: at most " + ui.Plural(maxPackFiles, "file", "files") + " of " + ui.FormatMegabytes(evidence.MaxAttachment) + " each and " + ui.FormatMegabytes(evidence.MaxAttached) + " in total.",
	})
	return form, nil
}

// NewPack shows the form for a new pack.
func NewPack(r *page.Request) error {
	form, err := packForm(r)
	if err != nil {
		return err
	}
	return renderPackForm(r, http.StatusOK, form)
}

func renderPackForm(r *page.Request, status int, form *ui.Form) error {
	return r.RenderStatus(status, "form-page", "File pack", ui.FormPage{
		Title: "File pack", Crumbs: []ui.Link{{Label: "Evidence", Path: "/evidence"}}, Form: form,
		Notice: "A pack contains the current posture, the obligations, the risks with their rating justifications, the incidents with their timelines, and the KPIs with their check-ins. All are of the same instant. A pack can't be changed or deleted.",
	})
}

// FilePack assembles a pack and files it.
func FilePack(r *page.Request) error {
	values, files, err := r.Upload("attachments", maxPackFiles)
	defer func() { page.ReleaseAll(files) }()
	if err != nil {
		return err
	}
	r.ExtendDeadlines(answerTimeout)
	draft := evidence.Draft{Title: values["title"], RegimeID: values["regime_id"], Program: r.Service.Version}
	for _, file := range files {
		draft.Attachments = append(draft.Attachments, evidence.Attachment{Name: file.Name, Open: file.Open})
	}
	pack, err := evidence.File(r.Context(), r.Store, r.Actor(), r.Session.Organisation, draft)
	if err != nil {
		form, failed := packForm(r)
		if failed != nil {
			return failed
		}
		for _, field := range form.Fields {
			field.Value = values[field.Name]
		}
		return renderPackError(r, form, err, len(files) > 0)
	}
	return r.RedirectWithMessage(ui.Path("evidence", pack.ID), "The pack has been filed.")
}

func renderPackError(r *page.Request, form *ui.Form, err error, attached bool) error {
	status, err := page.SetFormError(form, err)
	if err != nil {
		return err
	}
	if field := form.Field("attachments"); attached && field.Error == "" {
		field.Hint += " Choose the files again, because browsers do not keep them."
	}
	return renderPackForm(r, status, form)
}
