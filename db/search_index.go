package db

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The search index holds the trigrams of the texts of each record, and no texts
// (doc/decisions/0006-a-search-index-in-the-background.md). A query of it gives
// candidates: every record that holds the words, and some that hold their
// trigrams elsewhere. The conditions on the record decide.

// The parts of a place: search number << kindShift + organisation << orgShift + seq.
const (
	kindShift = 58
	orgShift  = 34
)

// placeBase is the place before the first record of a type in an organisation.
// The records of an organisation lie together, so that a query passes over those
// of others.
func placeBase(kind int64, org Org) int64 { return kind<<kindShift + int64(org)<<orgShift }

// trigramsPerWord bounds how many trigrams of a word are looked up. More of them
// hardly exclude more records.
const trigramsPerWord = 16

// matchExpression is the query of the index for records that may hold all of the
// words; "" where no word is long enough. The tokenizer folds case: by
// Unicode's simple rules, which cover those of search.
func matchExpression(words []string) string {
	var all []string
	for _, word := range words {
		var forms []string
		for _, form := range spellings(word) {
			grams := trigrams(form)
			if grams == nil { // too short: other records may hold it
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

// trigrams are the quoted trigrams of a text, evenly chosen where there are many;
// nil where it has none, or characters that the index does not hold as they are.
func trigrams(text string) []string {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil
	}
	letters := []rune(text)
	last := len(letters) - 3
	if last < 0 {
		return nil
	}
	count := min(last+1, trigramsPerWord)
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

// spellings are the forms in which a word is looked for. SQLite compares ASCII
// letters alone without their case, so that a word with others is looked for as
// it was given, in small and capital letters, and with a capital first letter.
func spellings(word string) []string {
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

// candidates is a query for the seqs of all records that the words may be in, or
// "" where the index does not help: those that it gives, those that changed
// since they were added to it, and those that are not in it yet.
func (b *browsing) candidates() string {
	match := matchExpression(b.words)
	if b.SearchNumber == 0 || match == "" {
		return ""
	}
	// a record is in one of three parts, so that it is found once
	text, from := b.argument(match), b.argument(placeBase(b.SearchNumber, b.org.Org))
	progress := "(SELECT seq FROM search_progress WHERE kind = " + strconv.FormatInt(b.SearchNumber, 10) + ")"
	within := " BETWEEN " + from + " AND " + from + " + " + progress
	return "SELECT rowid - " + from + " AS place FROM search_index WHERE search_index MATCH " + text +
		" AND rowid" + within + " AND NOT EXISTS (SELECT 1 FROM search_changes c WHERE c.place = search_index.rowid)" +
		" UNION ALL SELECT place - " + from + " FROM search_changes WHERE place" + within +
		" UNION ALL SELECT seq FROM " + b.Table + " WHERE +org_id = ?1 AND seq > " + progress
}

// argument adds an argument and returns how the statement names it.
func (b *browsing) argument(value any) string {
	b.args = append(b.args, value)
	return "?" + strconv.Itoa(len(b.args))
}
