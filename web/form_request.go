package web

import (
	"cmp"
	"errors"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"govsvc/db"
	"govsvc/server/api"
	"govsvc/web/ui"
)

// maxForm bounds a form in bytes, where its page sets no bound of its own.
const maxForm = 64 << 10

// readForm bounds the body of an action and reads its form into the request,
// unless that has files.
func (v *visit) readForm() error {
	if v.r.Method != http.MethodPost || v.page.pattern == "" {
		return nil
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, cmp.Or(v.page.body, maxForm))
	if v.page.files {
		return nil
	}
	kind, _, _ := mime.ParseMediaType(v.r.Header.Get("Content-Type"))
	if kind != "application/x-www-form-urlencoded" {
		return &problem{http.StatusUnsupportedMediaType, titles[http.StatusUnsupportedMediaType], "Use the page's own form."}
	}
	if err := v.r.ParseForm(); err != nil {
		return formProblem(err)
	}
	for name, values := range v.r.PostForm {
		if !utf8.ValidString(name) || slices.ContainsFunc(values, func(s string) bool { return !utf8.ValidString(s) }) {
			return &problem{http.StatusBadRequest, titles[http.StatusBadRequest], "The form is not valid UTF-8."}
		}
	}
	return nil
}

func formProblem(err error) *problem {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return &problem{http.StatusRequestEntityTooLarge, titles[http.StatusRequestEntityTooLarge], "What you sent has more bytes than this page takes. Send less of it."}
	}
	return &problem{http.StatusBadRequest, titles[http.StatusBadRequest], "The form was cut off or garbled on its way. Go back and send it again."}
}

// value is a field of the sent form, without the white space around it.
func (v *visit) value(name string) string { return strings.TrimSpace(v.r.PostForm.Get(name)) }

// asked is a parameter of the address, without the white space around it.
func (v *visit) asked(name string) string { return strings.TrimSpace(v.r.URL.Query().Get(name)) }

// secret is a field of the sent form, as it was typed.
func (v *visit) secret(name string) string { return v.r.PostForm.Get(name) }

// setFormError puts a refusal beside the field that it is about, or above the form,
// and returns the status to show the form with. Any other error comes back.
func setFormError(f *ui.Form, err error) (int, error) {
	if wait := retryAfter(err); wait > 0 {
		f.Error = message(err)
		if db.Is(err, db.Busy) {
			return http.StatusServiceUnavailable, nil
		}
		return http.StatusTooManyRequests, nil
	}
	if db.Is(err, db.Unauthenticated) || db.Is(err, db.CodeNeeded) {
		f.SetError(param(err), message(err))
		return http.StatusUnprocessableEntity, nil
	}
	if refusal := api.Refusal(err); refusal.Code == api.InvalidParameter || refusal.Code == api.ResourceConflict {
		f.SetError(refusal.Param, ui.Sentence(refusal.Message))
		return http.StatusUnprocessableEntity, nil
	}
	return 0, err
}

// param is the member that an error of the store is about.
func param(err error) string {
	var stored *db.Error
	if errors.As(err, &stored) {
		return stored.Param
	}
	return ""
}

// again shows a page whose form was refused, with what was sent and the reason
// beside its field. Errors that are not the user's come back.
func (v *visit) again(form *ui.Form, err error, template, title string, data any) error {
	v.waitFor(err)
	status, err := setFormError(form.Fill(v.r.PostForm), err)
	if err != nil {
		return err
	}
	return v.renderStatus(status, template, title, data)
}
