// Package search implements the search index of records. The index has the trigrams of
// the texts of each record, and no texts
// (doc/decisions/0006-a-search-index-in-the-background.md). A query of the index returns
// candidates: all records that contain the words, and some others that contain the same
// trigrams. The caller checks the candidates.
package search

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"govsvc/db/resource"
)

// The index refers to a record by its place, a number that consists of
// search number << kindShift + organisation << orgShift + seq.
const (
	kindShift = 58
	orgShift  = 34
)

// placeBase returns the place before the first record of a type in an organisation. The
// places of an organisation are contiguous, so that a query skips the records of
// others.
func placeBase(kind int64, org int64) int64 { return kind<<kindShift + org<<orgShift }

// maxTrigrams bounds how many trigrams of a word are looked up. More trigrams hardly
// exclude more records.
const maxTrigrams = 16

// matchExpression returns the query of the index for records that may hold all of the
// words, or "" if no word is long enough. The tokenizer folds case by the simple rules
// of Unicode, which match all forms of Spellings.
func matchExpression(words []string) string {
	var all []string
	for _, word := range words {
		var forms []string
		for _, form := range Spellings(word) {
			grams := trigrams(form)
			if grams == nil { // too short to exclude a record
				forms = nil
				break
			}
			forms = append(forms, "("+strings.Join(grams, " AND ")+")")
		}
		if forms != nil {
			all = append(all, "("+strings.Join(forms, " OR ")+")")
		}
	}
	return strings.Join(all, " AND ")
}

// trigrams returns the quoted trigrams of a text, and an even selection of them if there
// are many. It returns nil if the text is too short or has characters that the index does
// not store unchanged.
func trigrams(text string) []string {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil
	}
	letters := []rune(text)
	last := len(letters) - 3
	if last < 0 {
		return nil
	}
	count := min(last+1, maxTrigrams)
	grams := make([]string, count)
	for i := range grams {
		at := 0
		if count > 1 {
			at = i * last / (count - 1)
		}
		grams[i] = `"` + strings.ReplaceAll(string(letters[at:at+3]), `"`, `""`) + `"`
	}
	return grams
}

// Spellings returns the forms in which a word is searched. SQLite ignores the case of ASCII
// letters only. A word with other letters is searched as given, in lower case, in upper
// case and with a capital first letter.
func Spellings(word string) []string {
	forms := []string{word}
	if !strings.ContainsFunc(word, func(r rune) bool { return r > unicode.MaxASCII }) || !utf8.ValidString(word) {
		return forms
	}
	lower := []rune(strings.ToLower(word))
	title := string(unicode.ToUpper(lower[0])) + string(lower[1:])
	for _, form := range []string{string(lower), strings.ToUpper(word), title} {
		if form != forms[0] && form != forms[len(forms)-1] {
			forms = append(forms, form)
		}
	}
	return forms
}

// Candidates returns a query for the seqs, as place, of all records of an organisation
// that may hold the words: those that the index returns, those that changed since they
// were added to it, and those that are not in it yet. It returns "" if the index does
// not help. The function argument adds an argument to the statement and returns its
// name; ?1 is the organisation.
func Candidates(r *resource.Resource, org int64, words []string, argument func(any) string) string {
	match := matchExpression(words)
	if r.SearchNumber == 0 || match == "" {
		return ""
	}
	// A record is in one of three parts, so that it is found once.
	text, from := argument(match), argument(placeBase(r.SearchNumber, org))
	progress := "(SELECT seq FROM search_progress WHERE kind = " + strconv.FormatInt(r.SearchNumber, 10) + ")"
	within := " BETWEEN " + from + " AND " + from + " + " + progress
	return "SELECT rowid - " + from + " AS place FROM search_index WHERE search_index MATCH " + text +
		" AND rowid" + within + " AND NOT EXISTS (SELECT 1 FROM search_changes c WHERE c.place = search_index.rowid)" +
		" UNION ALL SELECT place - " + from + " FROM search_changes WHERE place" + within +
		" UNION ALL SELECT seq FROM " + r.Table + " WHERE +org_id = ?1 AND seq > " + progress
}
