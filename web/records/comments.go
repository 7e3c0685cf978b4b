package records

import (
	"strconv"

	"govsvc/db/annotation"
	"govsvc/db/auth"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// commentList is the section "Comments" of a record.
type commentList struct {
	Total    int
	Comments []comment
	Earlier  string   // path of earlier comments; "" if there are none
	Form     *ui.Form // nil without the permission
}

type comment struct {
	ID, Author, At, Text string
	Remove               *ui.Action // nil without the permission
}

// loadComments reads the comments of a record, or those before the parameter "before".
func loadComments(r *page.Request, of annotation.Subject, form *ui.Form) (*commentList, error) {
	service := annotation.New(r.Store)
	before, _ := strconv.ParseInt(r.Query("before"), 10, 64) // 0 for any other text
	found, more, err := service.Comments(r.Context(), r.Org(), of, before)
	if err != nil {
		return nil, err
	}
	list := &commentList{}
	if list.Total, err = service.CountComments(r.Context(), r.Org(), of); err != nil {
		return nil, err
	}
	at := Path(of.Type, of.ID)
	if more {
		list.Earlier = ui.WithQuery(at, "before", strconv.FormatInt(found[0].Number, 10)) + "#comments"
	}
	names, err := ActorNamesOf(r, found, func(c annotation.Comment) string { return c.Author })
	if err != nil {
		return nil, err
	}
	for _, c := range found {
		one := comment{ID: c.ID, Author: names[c.Author], At: c.At, Text: c.Text}
		if r.May(auth.WriteRecords) && c.Author == r.Session.User.ID || r.May(auth.Administer) {
			one.Remove = &ui.Action{
				Label: "Remove", Path: at + "/comments" + ui.Path(c.ID) + "/remove", Post: true, Danger: true,
				Ask: "Remove this comment? The audit log keeps its text, or the hash of a long one.", About: "the comment of " + names[c.Author],
			}
		}
		list.Comments = append(list.Comments, one)
	}
	if r.May(auth.WriteRecords) {
		if list.Form = form; form == nil {
			list.Form = commentForm(of)
		}
	}
	return list, nil
}

func commentForm(of annotation.Subject) *ui.Form {
	return &ui.Form{Action: Path(of.Type, of.ID) + "/comments", Submit: "Add comment", Fields: []*ui.Field{
		{Name: "text", Label: "Comment", Type: "textarea", Rows: 3, Required: true, MaxLength: annotation.MaxComment},
	}}
}

// AddComment adds a comment of the user to the record.
func (p Annotations) AddComment(r *page.Request) error {
	record, err := readRecord(r, p.Resource)
	if err != nil {
		return err
	}
	of := subjectOf(p.Resource, record)
	if err := annotation.New(r.Store).AddComment(r.Context(), r.Actor(), of, r.Value("text")); err != nil {
		form := commentForm(of)
		status, err := page.SetFormError(form.Fill(r.HTTP.PostForm), err)
		if err != nil {
			return err
		}
		return p.showRecord(r, record, refusedForm{status: status, comment: form})
	}
	return r.RedirectWithMessage(Path(of.Type, of.ID)+"#comments", "The comment has been added.")
}

// RemoveComment removes a comment of the user or, for an administrator, of anybody.
func (p Annotations) RemoveComment(r *page.Request) error {
	record, err := readRecord(r, p.Resource)
	if err != nil {
		return err
	}
	of := subjectOf(p.Resource, record)
	err = annotation.New(r.Store).RemoveComment(r.Context(), r.Actor(), of, r.PathValue("comment"), r.May(auth.Administer))
	if err != nil {
		return err
	}
	return r.RedirectWithMessage(Path(of.Type, of.ID)+"#comments", "The comment has been removed.")
}
