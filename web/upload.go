package web

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
	"unicode"

	"govsvc/server/transfer"
)

// stalled is how long a browser may send or take nothing of a large body. Both
// may take long otherwise, longer than the server gives to small ones.
const stalled = 30 * time.Second

// uploaded is a file that a browser has sent, kept in a temporary file without
// a name until release is called.
type uploaded struct {
	transfer.Source
	release func() error
}

// Bounds of forms with files.
const (
	uploadsAtOnce = 3   // of a user: each may fill a temporary file
	partCost      = 256 // bytes of memory that a part takes beside its name and text
)

// uploads counts those under way, by user.
type uploads struct {
	mutex sync.Mutex
	users map[string]int
}

// begin refuses a user who has too many under way. What it returns ends one.
func (u *uploads) begin(user string) (end func(), err error) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.users[user] == uploadsAtOnce {
		return nil, &problem{http.StatusTooManyRequests, "Too much at once", "You are sending other files already. Wait until they are through."}
	}
	u.users[user]++
	return func() {
		u.mutex.Lock()
		defer u.mutex.Unlock()
		if u.users[user]--; u.users[user] == 0 {
			delete(u.users, user)
		}
	}, nil
}

// upload reads a form with files: its texts, which may be as large together as
// any form, and the files of the field in a temporary file each. The caller
// releases the files, in the case of an error too. most bounds how many there
// may be.
func (v *visit) upload(field string, most int) (values map[string]string, files []uploaded, err error) {
	v.r.Body = &patient{v.r.Body, http.NewResponseController(v.w)}
	parts, err := v.r.MultipartReader()
	if err != nil {
		return nil, nil, &problem{http.StatusUnsupportedMediaType, titles[http.StatusUnsupportedMediaType], "Use the page's own form."}
	}
	values = map[string]string{}
	room := maxForm
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return values, files, v.remains()
		}
		if err != nil {
			return nil, files, formProblem(err)
		}
		if room -= partCost + len(part.FormName()); room < 0 {
			return nil, files, formProblem(&http.MaxBytesError{Limit: maxForm})
		}
		switch {
		case part.FormName() != field:
			text, err := io.ReadAll(io.LimitReader(part, int64(room)+1))
			if room -= len(text); err == nil && room < 0 {
				err = &http.MaxBytesError{Limit: maxForm}
			}
			if err != nil {
				return nil, files, formProblem(err)
			}
			values[part.FormName()] = strings.TrimSpace(strings.ToValidUTF8(string(text), "\ufffd"))
		case part.FileName() == "":
		case len(files) == most:
			return nil, files, &problem{http.StatusRequestEntityTooLarge, titles[http.StatusRequestEntityTooLarge], "These are more files than this page takes at once. Send fewer of them."}
		default:
			file, err := v.spool(part)
			if err != nil {
				return nil, files, err
			}
			files = append(files, file)
		}
	}
}

// remains refuses an upload whose user may no longer make it. A large one can
// take so long that the session ends, the role changes or the session goes on
// with another organisation before its end.
func (v *visit) remains() error {
	session, err := v.Auth.Sessions.ByToken(v.r.Context(), v.cookie(sessionCookie))
	switch {
	case err != nil:
		return err
	case session.Organisation.Org != v.session.Organisation.Org:
		return &problem{http.StatusConflict, titles[http.StatusConflict], "This session works on another organisation now. Nothing was stored. Switch back and upload the file again."}
	case !session.User.Role.May(v.page.needs):
		v.session.User.Role = session.User.Role // the page of the refusal has the links of that
		return v.refusedRole(session.User.Role)
	}
	return nil
}

func (v *visit) spool(part *multipart.Part) (uploaded, error) {
	sent := &sentBody{from: part}
	source, release, err := transfer.Spool(v.r.Context(), fileName(part.FileName()), sent)
	if sent.failed != nil {
		return uploaded{}, formProblem(sent.failed)
	}
	return uploaded{source, release}, err
}

// sentBody tells a body that could not be read from a file that could not be
// written.
type sentBody struct {
	from   io.Reader
	failed error
}

func (s *sentBody) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed = err
	}
	return n, err
}

// fileName is a name as the browser sent it, fit to be shown and logged.
func fileName(name string) string {
	name = strings.ToValidUTF8(path.Base(strings.ReplaceAll(name, `\`, "/")), "_")
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return '_'
		}
		return r
	}, name)
	if runes := []rune(name); len(runes) > 200 {
		name = string(runes[len(runes)-200:]) // with its extension
	}
	return name
}

// patient is a body that may come slowly, as long as it comes.
type patient struct {
	io.ReadCloser
	control *http.ResponseController
}

func (p *patient) Read(b []byte) (int, error) {
	// a server without deadlines needs none moved
	_ = p.control.SetReadDeadline(time.Now().Add(stalled))
	return p.ReadCloser.Read(b)
}

// unhurried gives an answer that is long, or long in the making, the time for
// its next part. A server takes a client for gone when its deadline for reading
// is over, so that both are moved.
func (v *visit) unhurried(next time.Duration) {
	control, until := http.NewResponseController(v.w), time.Now().Add(next)
	_ = control.SetReadDeadline(until)
	_ = control.SetWriteDeadline(until)
}

// releaseAll lets go of files.
func releaseAll(files []uploaded) {
	for _, file := range files {
		_ = file.release() // nothing is left but to close them
	}
}
