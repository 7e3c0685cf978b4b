package web

import (
	"net/http"
	"slices"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/server/evidence"
	"govsvc/web/ui"
)

// maxPackFiles bounds how many files are attached at once through the page.
const maxPackFiles = 50

// evidenceData is what the list of packs shows.
type evidenceData struct {
	Actions []ui.Action
	Table   ui.Table
}

// packData is what the page of a pack shows.
type packData struct {
	Pack    db.EvidencePack
	Crumbs  []ui.Link
	Actions []ui.Action
	Facts   []ui.Fact
	Verify  string // the command that verifies it
}

// evidencePacks lists the packs.
func (v *visit) evidencePacks() error {
	packs, err := v.Store.EvidencePacks(v.r.Context(), v.session.Organisation.Org)
	if err != nil {
		return err
	}
	data := evidenceData{Table: ui.Table{
		Caption: "Evidence packs",
		Columns: []ui.Column{{Label: "Title"}, {Label: "Regime", Kind: ui.Code}, {Label: "Items", Kind: ui.Number}, {Label: "Size", Kind: ui.Number}, {Label: "Filed", Kind: ui.Time}, {Label: "By"}},
		Empty: ui.Empty{
			Title:  "No pack has been filed yet",
			Advice: "A pack is one file with the state of compliance at one time: posture, obligations, risks, incidents, KPIs and what you attach. It can be verified anywhere, years later.",
		},
	}}
	if v.may(auth.WriteRecords) {
		data.Actions = []ui.Action{{Label: "File a pack", Path: "/evidence/new", Primary: true}}
		data.Table.Empty.Action = &data.Actions[0]
	}
	names, err := actorsOf(v, packs, func(p db.EvidencePack) string { return p.FiledBy })
	if err != nil {
		return err
	}
	for _, pack := range packs {
		data.Table.Rows = append(data.Table.Rows, ui.Row{
			Href:    ui.Path("evidence", pack.ID),
			Cells:   []any{pack.Title, pack.RegimeID, pack.ItemCount, ui.FormatBytes(pack.Size), pack.FiledAt, names[pack.FiledBy]},
			Actions: []ui.Action{{Label: "Download", Path: packPath(pack), About: pack.Title}},
		})
	}
	return v.render("evidence", "Evidence", data)
}

func packPath(pack db.EvidencePack) string { return ui.Path("evidence", pack.ID) + "/pack.zip" }

// pack finds the pack of the address.
func (v *visit) pack() (db.EvidencePack, error) {
	packs, err := v.Store.EvidencePacks(v.r.Context(), v.session.Organisation.Org)
	if err != nil {
		return db.EvidencePack{}, err
	}
	at := slices.IndexFunc(packs, func(p db.EvidencePack) bool { return p.ID == v.r.PathValue("id") })
	if at < 0 {
		return db.EvidencePack{}, &nothingHere
	}
	return packs[at], nil
}

// evidencePack shows a pack.
func (v *visit) evidencePack() error {
	pack, err := v.pack()
	if err != nil {
		return err
	}
	names, err := v.actors(pack.FiledBy)
	if err != nil {
		return err
	}
	regime := "All regimes"
	if pack.RegimeID != nil {
		regime = *pack.RegimeID
	}
	return v.render("evidence-pack", pack.Title, packData{
		Pack: pack, Crumbs: []ui.Link{{Label: "Evidence", Path: "/evidence"}},
		Actions: []ui.Action{{Label: "Download", Path: packPath(pack), Primary: true}},
		Facts: []ui.Fact{
			{Label: "Regime", Value: regime},
			{Label: "Items", Kind: ui.Number, Value: pack.ItemCount},
			{Label: "Size", Value: ui.FormatBytes(pack.Size)},
			{Label: "Filed", Kind: ui.Time, Value: pack.FiledAt},
			{Label: "By", Value: names[pack.FiledBy]},
			{Label: "Id", Kind: ui.Code, Value: pack.ID},
		},
		Verify: "govsvc evidence verify " + packName(pack) + " --sha256 " + pack.ManifestSHA256,
	})
}

// packName is the name that a pack is saved under.
func packName(pack db.EvidencePack) string { return "evidence-" + pack.ID + ".zip" }

// downloadPack answers with a pack's zip.
func (v *visit) downloadPack() error {
	pack, err := v.pack()
	if err != nil {
		return err
	}
	file := &download{visit: v, name: packName(pack), contentType: "application/zip", size: pack.Size}
	_, err = v.Store.ExportEvidence(v.r.Context(), v.by(), pack.ID, file)
	return file.end(err)
}

// packForm asks what to file.
func (v *visit) packForm() (*ui.Form, error) {
	var regimes []string
	err := v.Store.Snapshot(v.r.Context(), func(s *db.Snapshot) (err error) {
		regimes, err = s.Regimes(v.r.Context(), v.session.Organisation.Org)
		return err
	})
	if err != nil {
		return nil, err
	}
	form := &ui.Form{Action: "/evidence", Submit: "File the pack", Cancel: "/evidence", Uploads: true, Fields: []*ui.Field{
		{Name: "title", Label: "Title", Required: true, MaxLength: evidence.MaxTitle, Hint: "What the pack is for, such as “Supervisory review, third quarter”."},
	}}
	if len(regimes) > 0 {
		regime := &ui.Field{Name: "regime_id", Label: "Regime", Type: "select", Hint: "None takes the obligations of all regimes."}
		for _, id := range regimes {
			regime.Options = append(regime.Options, ui.Option{Value: id, Label: id})
		}
		form.Fields = append(form.Fields, regime)
	}
	form.Fields = append(form.Fields, &ui.Field{
		Name: "attachments", Label: "Attachments", Type: "file", Multiple: true,
		Hint: "Policies, minutes, reports: at most " + ui.Plural(maxPackFiles, "file", "files") + " of " + ui.FormatMegabytes(evidence.MaxAttachment) + " each and " + ui.FormatMegabytes(evidence.MaxAttached) + " together.",
	})
	return form, nil
}

// newPack shows the form.
func (v *visit) newPack() error {
	form, err := v.packForm()
	if err != nil {
		return err
	}
	return v.showPackForm(http.StatusOK, form)
}

func (v *visit) showPackForm(status int, form *ui.Form) error {
	return v.renderStatus(status, "form-page", "File a pack", ui.FormPage{
		Title: "File a pack", Crumbs: []ui.Link{{Label: "Evidence", Path: "/evidence"}}, Form: form,
		Notice: "A pack holds, all of one instant, the present posture, the obligations, the risks with the reasons of their re-ratings, the incidents with their timelines and the KPIs with their check-ins. It is filed for good.",
	})
}

// filePack assembles a pack and files it.
func (v *visit) filePack() error {
	values, files, err := v.upload("attachments", maxPackFiles)
	defer func() { releaseAll(files) }()
	if err != nil {
		return err
	}
	v.unhurried(importTime)
	draft := evidence.Draft{Title: values["title"], RegimeID: values["regime_id"], Program: v.Version}
	for _, file := range files {
		draft.Attachments = append(draft.Attachments, evidence.Attachment{Name: file.Name, Open: file.Open})
	}
	pack, err := evidence.File(v.r.Context(), v.Store, v.by(), v.session.Organisation, draft)
	if err != nil {
		form, broken := v.packForm()
		if broken != nil {
			return broken
		}
		for _, field := range form.Fields {
			field.Value = values[field.Name]
		}
		return v.refusePack(form, err, len(files) > 0)
	}
	v.flash("The pack has been filed.")
	v.redirect(ui.Path("evidence", pack.ID))
	return nil
}

func (v *visit) refusePack(form *ui.Form, err error, attached bool) error {
	status, err := setFormError(form, err)
	if err != nil {
		return err
	}
	if field := form.Field("attachments"); attached && field.Error == "" {
		field.Hint += " Choose the files again: a browser does not keep them."
	}
	return v.showPackForm(status, form)
}

// evidencePages are about evidence packs.
func evidencePages() []page {
	return []page{
		{pattern: "GET /evidence", needs: auth.ReadRecords, do: (*visit).evidencePacks},
		{pattern: "GET /evidence/new", needs: auth.WriteRecords, do: (*visit).newPack},
		{pattern: "POST /evidence", needs: auth.WriteRecords, do: (*visit).filePack, body: evidence.MaxAttached + maxForm, files: true},
		{pattern: "GET /evidence/{id}", needs: auth.ReadRecords, do: (*visit).evidencePack},
		{pattern: "GET /evidence/{id}/pack.zip", needs: auth.ReadRecords, do: (*visit).downloadPack, download: true},
	}
}
