package page

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"path"
	"strings"
	"time"
	"unicode"

	"govsvc/server/transfer"
)

// idleTimeout is how long a client can neither send nor receive a byte of a large
// body. The whole body can take longer than the deadlines of the HTTP server.
const idleTimeout = 30 * time.Second

// File is an uploaded file. It is kept in an unnamed temporary file until Release
// is called.
type File struct {
	transfer.Source
	Release func() error
}

// Bounds of forms with files.
const (
	uploadsAtOnce = 3   // uploads of a user, each with temporary files
	partOverhead  = 256 // bytes of memory that a part needs besides its name and text
)

// tooManyUploads refuses an upload of a user with uploadsAtOnce in progress.
var tooManyUploads = Problem{http.StatusTooManyRequests, "Too much at once", "You are already uploading other files. Wait until they are complete."}

// Upload reads a form with files: its texts, MaxForm bytes at most, and at most
// limit files of one field. The caller must release the files, also after an
// error.
func (r *Request) Upload(field string, limit int) (values map[string]string, files []File, err error) {
	r.HTTP.Body = &slowBody{r.HTTP.Body, http.NewResponseController(r.Writer)}
	parts, err := r.HTTP.MultipartReader()
	if err != nil {
		return nil, nil, NewProblem(http.StatusUnsupportedMediaType, "Use the form of the page.")
	}
	values = map[string]string{}
	left := MaxForm
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return values, files, recheckSession(r)
		}
		if err != nil {
			return nil, files, formProblem(err)
		}
		if left -= partOverhead + len(part.FormName()); left < 0 {
			return nil, files, formProblem(&http.MaxBytesError{Limit: MaxForm})
		}
		switch {
		case part.FormName() != field:
			text, err := io.ReadAll(io.LimitReader(part, int64(left)+1))
			if left -= len(text); err == nil && left < 0 {
				err = &http.MaxBytesError{Limit: MaxForm}
			}
			if err != nil {
				return nil, files, formProblem(err)
			}
			values[part.FormName()] = strings.TrimSpace(strings.ToValidUTF8(string(text), "\ufffd"))
		case part.FileName() == "":
		case len(files) == limit:
			return nil, files, NewProblem(http.StatusRequestEntityTooLarge, "There are too many files. Send fewer at once.")
		default:
			file, err := spool(r, part)
			if err != nil {
				return nil, files, err
			}
			files = append(files, file)
		}
	}
}

// recheckSession refuses an upload that the user can no longer make. During a long
// upload the session can end or switch to another organisation, and the role can
// change.
func recheckSession(r *Request) error {
	session, err := r.Auth.Sessions.ByToken(r.Context(), r.Cookie(sessionCookie))
	switch {
	case err != nil:
		return err
	case session.Organisation.Org != r.Session.Organisation.Org:
		return NewProblem(http.StatusConflict, "This session switched to another organisation. Nothing was stored. Switch back and upload the file again.")
	case !session.User.Role.May(r.route.Needs):
		r.Session.User.Role = session.User.Role // for the navigation of the error page
		return r.server.forbid(r, session.User.Role)
	}
	return nil
}

// spool copies a part to a temporary file.
func spool(r *Request, part *multipart.Part) (File, error) {
	body := &checkedReader{from: part}
	source, release, err := transfer.Spool(r.Context(), fileName(part.FileName()), body)
	if body.failed != nil {
		return File{}, formProblem(body.failed)
	}
	return File{source, release}, err
}

// checkedReader keeps the error of reading, to distinguish it from an error of
// writing the temporary file.
type checkedReader struct {
	from   io.Reader
	failed error
}

func (s *checkedReader) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed = err
	}
	return n, err
}

// fileName returns a file name of the browser in a form that can be shown and
// logged.
func fileName(name string) string {
	name = strings.ToValidUTF8(path.Base(strings.ReplaceAll(name, `\`, "/")), "_")
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return '_'
		}
		return r
	}, name)
	if runes := []rune(name); len(runes) > 200 {
		name = string(runes[len(runes)-200:]) // keeps the extension
	}
	return name
}

// slowBody extends the read deadline of the connection with every read.
type slowBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func (p *slowBody) Read(b []byte) (int, error) {
	_ = p.control.SetReadDeadline(time.Now().Add(idleTimeout)) // fails without deadlines, in tests
	return p.ReadCloser.Read(b)
}

// ExtendDeadlines gives a slow answer the time for its next part. It moves the
// read deadline too, because net/http cancels the request when that passes.
func (r *Request) ExtendDeadlines(next time.Duration) {
	control, until := http.NewResponseController(r.Writer), time.Now().Add(next)
	_ = control.SetReadDeadline(until)
	_ = control.SetWriteDeadline(until)
}

// ReleaseAll releases files.
func ReleaseAll(files []File) {
	for _, file := range files {
		_ = file.Release() // a failure leaves an unnamed file that ends with the process
	}
}
