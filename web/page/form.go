package page

import (
	"cmp"
	"errors"
	"mime"
	"net/http"
	"slices"
	"unicode/utf8"

	"govsvc/db"
	"govsvc/server/api"
	"govsvc/web/ui"
)

// MaxForm bounds a form in bytes unless its route has another bound.
const MaxForm = 64 << 10

// readForm bounds the body of an action and parses its form. It leaves forms with
// files to Request.Upload.
func readForm(r *Request) error {
	if r.HTTP.Method != http.MethodPost || r.route.Pattern == "" {
		return nil
	}
	r.HTTP.Body = http.MaxBytesReader(r.Writer, r.HTTP.Body, cmp.Or(r.route.MaxBody, MaxForm))
	if r.route.Upload {
		return nil
	}
	mediaType, _, _ := mime.ParseMediaType(r.HTTP.Header.Get("Content-Type"))
	if mediaType != "application/x-www-form-urlencoded" {
		return NewProblem(http.StatusUnsupportedMediaType, "Use the form of the page.")
	}
	if err := r.HTTP.ParseForm(); err != nil {
		return formProblem(err)
	}
	for name, values := range r.HTTP.PostForm {
		if !utf8.ValidString(name) || slices.ContainsFunc(values, func(s string) bool { return !utf8.ValidString(s) }) {
			return NewProblem(http.StatusBadRequest, "The form is not valid UTF-8.")
		}
	}
	return nil
}

// formProblem explains why a form could not be read.
func formProblem(err error) *Problem {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return NewProblem(http.StatusRequestEntityTooLarge, "The form has more bytes than this page accepts. Send less.")
	}
	return NewProblem(http.StatusBadRequest, "The form is incomplete or damaged. Go back and send it again.")
}

// SetFormError puts a refusal at the field that it names, or above the form, and
// returns the status of the answer. It returns errors that the user cannot fix.
func SetFormError(f *ui.Form, err error) (int, error) {
	if wait := retryAfter(err); wait > 0 {
		f.Error = Message(err)
		if db.Is(err, db.Busy) {
			return http.StatusServiceUnavailable, nil
		}
		return http.StatusTooManyRequests, nil
	}
	if db.Is(err, db.Unauthenticated) || db.Is(err, db.CodeNeeded) {
		f.SetError(param(err), Message(err))
		return http.StatusUnprocessableEntity, nil
	}
	if refusal := api.Refusal(err); refusal.Code == api.InvalidParameter || refusal.Code == api.ResourceConflict {
		f.SetError(refusal.Param, refusal.Message)
		return http.StatusUnprocessableEntity, nil
	}
	return 0, err
}

// param returns the member that an error of the store names.
func param(err error) string {
	var stored *db.Error
	if errors.As(err, &stored) {
		return stored.Param
	}
	return ""
}

// RenderRefused renders a page again whose form was refused, with what was typed
// and the error at its field. It returns errors that the user cannot fix.
func (r *Request) RenderRefused(form *ui.Form, err error, template, title string, data any) error {
	setRetryAfter(r, err)
	status, err := SetFormError(form.Fill(r.HTTP.PostForm), err)
	if err != nil {
		return err
	}
	return r.RenderStatus(status, template, title, data)
}
