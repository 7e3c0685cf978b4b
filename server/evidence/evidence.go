// Package evidence files evidence packs of an organisation and verifies them
// (contract, section 6). A pack is a zip with manifest.json, which lists every
// other file with its size and SHA-256, and those files. The manifest is canonical
// JSON (RFC 8785), so its SHA-256 identifies the whole pack. The zip has one form,
// without compression. Verify needs the zip alone to find any changed byte.
package evidence

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"govsvc/db"
)

// Limits of a pack. Sizes are in bytes.
const (
	MaxAttachment  = 64 << 20  // one attached file
	MaxAttached    = 256 << 20 // all attached files
	MaxAttachments = 1000
	MaxPack        = 2 << 30 // all items; below the limit of a zip without Zip64
)

// MaxTitle is the maximum length of a title in characters.
const MaxTitle = 2000

// Draft is a pack to be filed.
type Draft struct {
	Title       string
	RegimeID    string // the obligations of this regime alone; "" is all
	Attachments []Attachment
	Program     string // the version of govsvc, for the manifest
}

// Attachment is a file for a pack. SafeName changes its name.
type Attachment struct {
	Name string
	Open func() (io.ReadCloser, error)
}

// File assembles a pack from one read snapshot and files it. The items are written
// to a temporary file, and from there to the data file in short transactions. The
// error of an invalid draft is a *db.Error with code Invalid.
func File(ctx context.Context, store *db.DB, by db.Actor, org db.Organisation, draft Draft) (db.EvidencePack, error) {
	var filed db.EvidencePack
	draft.Title = strings.TrimSpace(draft.Title)
	if n := utf8.RuneCountInString(draft.Title); n == 0 || n > MaxTitle || !utf8.ValidString(draft.Title) {
		return filed, invalid("title", "a title has 1 to %d characters", MaxTitle)
	}
	items, err := newSpool()
	if err != nil {
		return filed, err
	}
	defer items.close()
	if err := items.attach(draft.Attachments); err != nil {
		return filed, err
	}
	if err := store.Snapshot(ctx, func(s *db.Snapshot) error { return items.assemble(ctx, s, org.Org, draft.RegimeID) }); err != nil {
		return filed, err
	}
	if err := items.flush(); err != nil {
		return filed, err
	}
	schema, err := store.File.Version(ctx)
	if err != nil {
		return filed, err
	}
	by.Org = org.Org
	pack := store.Evidence.NewPack(by, draft.Title)
	pack.RegimeID, pack.ItemCount = orNull(draft.RegimeID), len(items.members)
	manifest := Manifest{
		Object: manifestObject, APIVersion: db.APIVersion, PackID: pack.ID, Title: pack.Title,
		Organisation: Organisation{org.ID, org.Name}, RegimeID: pack.RegimeID,
		FiledAt: pack.FiledAt, FiledBy: pack.FiledBy, Items: items.list(),
		Versions: Versions{Manifest: manifestVersion, Govsvc: draft.Program, Schema: schema},
	}
	text, err := manifest.canonical()
	if err != nil {
		return filed, err
	}
	err = store.Evidence.File(ctx, by, &pack, text, func(w io.Writer) error {
		return encode(ctx, w, slices.Insert(slices.Clone(items.members), 0, manifestMember(text)))
	})
	return pack, err
}

// assemble writes the items of the organisation's records.
func (s *spool) assemble(ctx context.Context, from *db.Snapshot, org db.Org, regime string) error {
	if regime != "" {
		known, err := from.Regimes(ctx, org)
		if err != nil {
			return err
		}
		if !slices.Contains(known, regime) {
			return invalid("regime_id", "no obligation and no current posture names a regime %q; the regimes are: %s",
				regime, cmp.Or(strings.Join(known, ", "), "none yet"))
		}
	}
	first := len(s.members)
	for _, item := range db.EvidenceItems() {
		write := func(w io.Writer) error {
			list := &recordList{w: w, single: item == "posture"}
			if err := from.Evidence(ctx, org, item, regime, list.add); err != nil {
				return fmt.Errorf("%s: %w", item, err)
			}
			return list.end()
		}
		if err := s.add(item+".json", MaxPack, write); err != nil {
			return err
		}
	}
	// the attachments were read first, and come last
	s.members = slices.Concat(s.members[first:], s.members[:first])
	return nil
}

// recordList writes records as a JSON array, with one record on each line. A single record is
// written without an array; without one it is null.
type recordList struct {
	w      io.Writer
	single bool
	begun  bool
}

func (l *recordList) add(record []byte) error {
	before := "[\n"
	switch {
	case l.single:
		before = ""
	case l.begun:
		before = ",\n"
	}
	l.begun = true
	if _, err := io.WriteString(l.w, before); err != nil {
		return err
	}
	_, err := l.w.Write(record)
	return err
}

func (l *recordList) end() error {
	text := "\n]\n"
	switch {
	case l.single && l.begun:
		text = "\n"
	case l.single:
		text = "null\n"
	case !l.begun:
		text = "[]\n"
	}
	_, err := io.WriteString(l.w, text)
	return err
}

func invalid(param, format string, args ...any) error {
	return &db.Error{Code: db.Invalid, Param: param, Message: fmt.Sprintf(format, args...)}
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
