package evidence

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// attachmentFolder is the folder of the attached files in a pack.
const attachmentFolder = "attachments/"

// maxName is the maximum length of an attachment's name in bytes.
const maxName = 200

// attach adds the attached files, ordered by name.
func (s *spool) attach(files []Attachment) error {
	if len(files) > MaxAttachments {
		return invalid("attachments", "a pack has at most %d attachments", MaxAttachments)
	}
	names := map[string]string{} // the name in one case, for systems that ignore case → as given
	files = slices.Clone(files)
	for i := range files {
		given := files[i].Name
		files[i].Name = SafeName(given)
		folded := strings.ToLower(strings.ToUpper(files[i].Name))
		if first, twice := names[folded]; twice {
			return invalid("attachments", "%q and %q would both be %s%s in the pack; rename one", first, given, attachmentFolder, files[i].Name)
		}
		names[folded] = given
	}
	slices.SortFunc(files, func(a, b Attachment) int { return cmp.Compare(a.Name, b.Name) })
	for _, file := range files {
		if err := s.attachOne(file); err != nil {
			return err
		}
	}
	return nil
}

func (s *spool) attachOne(file Attachment) (err error) {
	from, err := file.Open()
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, from.Close()) }()
	limit := min(MaxAttachment, MaxAttached-s.size) // attachments are added first
	err = s.add(attachmentFolder+file.Name, limit, func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
	switch {
	case errors.Is(err, errTooLarge) && limit < MaxAttachment:
		return invalid("attachments", "the attachments are larger than %s in all", megabytes(MaxAttached))
	case errors.Is(err, errTooLarge):
		return invalid("attachments", "%s is larger than %s", file.Name, megabytes(MaxAttachment))
	case err != nil:
		return fmt.Errorf("%s: %w", file.Name, err)
	}
	return nil
}

// SafeName returns the name of an attached file in a pack: the last element of its
// path, with letters, digits and a few signs. On no system is it a path, a device,
// an option or a hidden file.
func SafeName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if r != utf8.RuneError && (unicode.In(r, unicode.L, unicode.M, unicode.Nd) || strings.ContainsRune(" ._-+()@,=#&", r)) {
			return r
		}
		return '_'
	}, strings.ToValidUTF8(name, "_"))
	name = shorten(name)
	if rest := strings.TrimRight(name, ". "); rest != name {
		name = rest + "_"
	}
	base, _, _ := strings.Cut(strings.ToUpper(name), ".")
	first, _ := utf8.DecodeRuneInString(name)
	if name == "" || strings.ContainsRune(".- ", first) || unicode.Is(unicode.M, first) || isDevice(strings.TrimRight(base, " ")) {
		name = "_" + name
	}
	return name
}

// shorten shortens a long name and keeps its extension.
func shorten(name string) string {
	if len(name) <= maxName {
		return name
	}
	extension := path.Ext(name)
	if len(extension) > maxName/4 {
		extension = ""
	}
	name = name[:maxName-len(extension)]
	for !utf8.ValidString(name) {
		name = name[:len(name)-1]
	}
	return name + extension
}

// isDevice reports whether Windows reserves a name for a device.
func isDevice(base string) bool {
	switch base {
	case "CON", "PRN", "AUX", "NUL":
		return true
	}
	number, ok := strings.CutPrefix(base, "COM")
	if !ok {
		number, ok = strings.CutPrefix(base, "LPT")
	}
	return ok && len(number) == 1 && number[0] >= '0' && number[0] <= '9'
}
