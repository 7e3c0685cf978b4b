package ui

import (
	"slices"
	"unicode"
)

// Piece is a part of a text. Match marks a word that was searched for.
type Piece struct {
	Text  string
	Match bool
}

// Excerpt returns the part of a text, of at most limit characters, around the first of
// the words that occurs in it, in either case. It returns nil if none of them does.
func Excerpt(text string, words []string, limit int) []Piece {
	letters, folded := []rune(text), fold(text)
	var found [][2]int // the places of the words
	for _, word := range words {
		if at := index(folded, fold(word), 0); at >= 0 {
			found = append(found, [2]int{at, at + len([]rune(word))})
		}
	}
	if len(found) == 0 {
		return nil
	}
	first := slices.MinFunc(found, func(a, b [2]int) int { return a[0] - b[0] })
	from := max(0, min(first[0]-limit/3, len(letters)-limit))
	if from > 0 { // begin with a word
		for i := from; i < first[0]; i++ {
			if unicode.IsSpace(letters[i]) {
				from = i + 1
				break
			}
		}
	}
	to := min(len(letters), from+limit)
	pieces := mark(letters[from:to], folded[from:to], words)
	if from > 0 {
		pieces = append([]Piece{{Text: "…"}}, pieces...)
	}
	if to < len(letters) {
		pieces = append(pieces, Piece{Text: "…"})
	}
	return pieces
}

// Mark returns the whole text with its words marked.
func Mark(text string, words []string) []Piece { return mark([]rune(text), fold(text), words) }

// mark divides a text where one of the words begins or ends.
func mark(letters, folded []rune, words []string) (pieces []Piece) {
	matches := make([]bool, len(letters))
	for _, word := range words {
		part := fold(word)
		for at := index(folded, part, 0); at >= 0; at = index(folded, part, at+1) {
			for i := range part {
				matches[at+i] = true
			}
		}
	}
	for from := 0; from < len(letters); {
		to := from + 1
		for to < len(letters) && matches[to] == matches[from] {
			to++
		}
		pieces = append(pieces, Piece{string(letters[from:to]), matches[from]})
		from = to
	}
	return pieces
}

// fold returns the characters of a text in lower case, one for each of the text.
func fold(text string) []rune {
	letters := []rune(text)
	for i, r := range letters {
		letters[i] = unicode.ToLower(r)
	}
	return letters
}

// index returns the place of part in text, at or after from, or -1.
func index(text, part []rune, from int) int {
	if len(part) == 0 {
		return -1
	}
	for i := from; i+len(part) <= len(text); i++ {
		if slices.Equal(text[i:i+len(part)], part) {
			return i
		}
	}
	return -1
}
