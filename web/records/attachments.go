package records

import (
	"errors"

	"govsvc/db/annotation"
	"govsvc/db/auth"
	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// filesAtOnce bounds the files of one form.
const filesAtOnce = 10

// MaxUpload bounds the form with the files of a record in bytes.
const MaxUpload = annotation.MaxAttached + page.MaxForm

// attachmentList is the section "Attachments" of a record.
type attachmentList struct {
	Table ui.Table
	Form  *ui.Form // nil without the permission
}

func loadAttachments(r *page.Request, of annotation.Subject, form *ui.Form) (*attachmentList, error) {
	files, err := annotation.New(r.Store).Attachments(r.Context(), r.Org(), of)
	if err != nil {
		return nil, err
	}
	names, err := ActorNamesOf(r, files, func(a annotation.Attachment) string { return a.Author })
	if err != nil {
		return nil, err
	}
	list := &attachmentList{Table: ui.Table{
		Caption: "Attached files",
		Columns: []ui.Column{{Label: "File"}, {Label: "Size", Kind: ui.Number}, {Label: "Added by"}, {Label: "Added", Kind: ui.Time}},
	}}
	at := Path(of.Type, of.ID) + "/attachments"
	for _, file := range files {
		row := ui.Row{Href: at + ui.Path(file.ID), Under: "SHA-256 " + file.SHA256, Cells: []any{file.Name, ui.FormatBytes(file.Size), names[file.Author], file.At}}
		if r.May(auth.WriteRecords) {
			row.Actions = []ui.Action{{
				Label: "Remove", Path: at + ui.Path(file.ID) + "/remove", Post: true, Danger: true, About: file.Name,
				Ask: "Remove " + file.Name + "? The file can't be restored. The audit log keeps its name and its SHA-256.",
			}}
		}
		list.Table.Rows = append(list.Table.Rows, row)
	}
	if r.May(auth.WriteRecords) {
		if list.Form = form; form == nil {
			list.Form = attachmentForm(of)
		}
	}
	return list, nil
}

func attachmentForm(of annotation.Subject) *ui.Form {
	return &ui.Form{Action: Path(of.Type, of.ID) + "/attachments", Submit: "Attach", Uploads: true, Fields: []*ui.Field{{
		Name: "file", Label: "Files", Type: "file", Multiple: true, Required: true,
		Hint: "At most " + ui.FormatMegabytes(annotation.MaxAttachment) + " each and " + ui.FormatMegabytes(annotation.MaxAttached) + " for the record.",
	}}}
}

// Attach stores the files of the form.
func (p Annotations) Attach(r *page.Request) error {
	record, err := readRecord(r, p.Resource)
	if err != nil {
		return err
	}
	_, files, err := r.Upload("file", filesAtOnce)
	defer func() { page.ReleaseAll(files) }()
	if err != nil {
		return err
	}
	of := subjectOf(p.Resource, record)
	if len(files) == 0 {
		err = &api.Error{Code: api.InvalidParameter, Param: "file", Message: "choose a file"}
	}
	for _, file := range files {
		if err == nil {
			err = attach(r, of, file)
		}
	}
	if err != nil {
		form := attachmentForm(of)
		status, err := page.SetFormError(form, err)
		if err != nil {
			return err
		}
		return p.showRecord(r, record, refusedForm{status: status, attachment: form})
	}
	return r.RedirectWithMessage(Path(of.Type, of.ID)+"#attachments", ui.Plural(len(files), "file has", "files have")+" been attached.")
}

func attach(r *page.Request, of annotation.Subject, file page.File) (err error) {
	content, err := file.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	return annotation.New(r.Store).Attach(r.Context(), r.Actor(), of, file.Name, content)
}

// Download sends an attachment. The browser saves it and shows nothing of it, because
// anybody may have written it.
func (p Annotations) Download(r *page.Request) error {
	record, err := readRecord(r, p.Resource)
	if err != nil {
		return err
	}
	service := annotation.New(r.Store)
	file, err := service.Attachment(r.Context(), r.Org(), subjectOf(p.Resource, record), r.PathValue("file"))
	if err != nil {
		return err
	}
	r.Writer.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
	// Without a Content-Length, the client notices that a damaged file was broken off.
	download := r.NewDownload(file.Name, "application/octet-stream", 0)
	return download.End(service.Read(r.Context(), file, download))
}

// RemoveAttachment removes a file of the record.
func (p Annotations) RemoveAttachment(r *page.Request) error {
	record, err := readRecord(r, p.Resource)
	if err != nil {
		return err
	}
	of := subjectOf(p.Resource, record)
	if err := annotation.New(r.Store).RemoveAttachment(r.Context(), r.Actor(), of, r.PathValue("file")); err != nil {
		return err
	}
	return r.RedirectWithMessage(Path(of.Type, of.ID)+"#attachments", "The file has been removed.")
}
