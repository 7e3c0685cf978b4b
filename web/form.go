package web

import (
	"cmp"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"govsvc/db"
	"govsvc/server/api"
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

// Form is a form as the block "form" shows it.
type Form struct {
	Action  string // the path that it is sent to
	Submit  string // the button's words
	Danger  bool   // the button does what can't be undone
	Cancel  string // a path to go back to; "" for none
	Fault   string // what is wrong with the whole of it
	Fields  []*Field
	Hidden  map[string]string
	Uploads bool // it has files
	// Carried are further hidden values, of any names and numbers.
	Carried url.Values
}

// Field is a field of a form as the block "field" shows it.
type Field struct {
	Name  string
	Label string
	// Prefix tells the ids of this field from those of another form of the page
	// that has a field of the same name.
	Prefix string
	// Type is an input's type (text by default), or textarea, select, checks or
	// switch.
	Type         string
	Value        string
	Values       []string // of checks
	Options      []Option // of select and checks
	Hint         string
	Error        string
	Required     bool
	Autofocus    bool
	MinLength    int
	MaxLength    int
	Rows         int    // of a textarea; 4 by default
	Autocomplete string // as HTML has it; "off" by default
	InputMode    string
	Step         string // of numbers
	Accept       string // of files
	Multiple     bool   // of files
}

// Option is a choice of a field.
type Option struct{ Value, Label, Hint string }

// options are choices whose words are made from their values.
func options[T ~string](values ...T) []Option {
	list := make([]Option, len(values))
	for i, value := range values {
		list[i] = Option{Value: string(value), Label: words(string(value))}
	}
	return list
}

// Chosen tells whether an option is chosen.
func (f *Field) Chosen(value string) bool {
	return f.Value == value || slices.Contains(f.Values, value)
}

// ID is the field's id in its page.
func (f *Field) ID() string { return "f-" + f.Prefix + f.Name }

// Describes lists the ids of what describes the field.
func (f *Field) Describes() string {
	var ids []string
	if f.Hint != "" {
		ids = append(ids, f.ID()+"-hint")
	}
	if f.Error != "" {
		ids = append(ids, f.ID()+"-error")
	}
	return strings.Join(ids, " ")
}

// field finds a field by its name; nil if there is none.
func (f *Form) field(name string) *Field {
	for _, field := range f.Fields {
		if field.Name == name {
			return field
		}
	}
	return nil
}

// Faulty tells how many fields are at fault.
func (f *Form) Faulty() (n int) {
	for _, field := range f.Fields {
		if field.Error != "" {
			n++
		}
	}
	return n
}

// keep keeps what was sent, so that a refused form is shown again as it was
// filled in. Passwords and files are never sent back.
func (f *Form) keep(sent url.Values) *Form {
	for _, field := range f.Fields {
		switch field.Type {
		case "password", "file":
		case "checks":
			field.Values = sent[field.Name]
		default:
			field.Value = sent.Get(field.Name)
		}
	}
	return f
}

// blame puts a refusal beside the field that it is about, or above the form,
// and returns the status to show the form with. Any other error comes back.
func (f *Form) blame(err error) (int, error) {
	if wait := retryAfter(err); wait > 0 {
		f.Fault = message(err)
		if db.Is(err, db.Busy) {
			return http.StatusServiceUnavailable, nil
		}
		return http.StatusTooManyRequests, nil
	}
	if db.Is(err, db.Unauthenticated) || db.Is(err, db.CodeNeeded) {
		f.put(param(err), message(err))
		return http.StatusUnprocessableEntity, nil
	}
	if refusal := api.Refusal(err); refusal.Code == api.InvalidParameter || refusal.Code == api.ResourceConflict {
		f.put(refusal.Param, sentence(refusal.Message))
		return http.StatusUnprocessableEntity, nil
	}
	return 0, err
}

func (f *Form) put(name, fault string) {
	if field := f.field(name); field != nil {
		field.Error = fault
		return
	}
	f.Fault = fault
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
func (v *visit) again(form *Form, err error, template, title string, data any) error {
	v.waitFor(err)
	status, err := form.keep(v.r.PostForm).blame(err)
	if err != nil {
		return err
	}
	return v.renderStatus(status, template, title, data)
}
