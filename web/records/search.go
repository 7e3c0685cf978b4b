package records

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/server/openapi"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// Bounds of the search of all records.
const (
	// resultsOfType is the number of records of a type that are shown. The list of the
	// type has all of them.
	resultsOfType = 5
	// shortestSearch is the number of characters from which records are searched.
	shortestSearch = 2
	excerptLength  = 120
)

// Search is the search of records, pages and actions.
type Search struct {
	actions []Destination
	pages   []*Pages
}

// Destination is a page or an action that the search offers.
type Destination struct {
	Label, Path string
	Words       string // further words that find it
}

// NewSearch returns the search. Besides the actions it offers the forms of the resources
// and the pages of the navigation.
func NewSearch(document *openapi.Document, actions []Destination) *Search {
	return &Search{actions, All(document)}
}

// searchData is the argument of the page "search".
type searchData struct {
	Text   string
	Groups []searchGroup
	Hint   string
}

// searchGroup is a list of results.
type searchGroup struct {
	ID, Title string
	Results   []searchResult
	Count     string // the number of records that match
	All       string // path of the list with all of them; "" if all are shown
	AllLabel  string
	named     bool // the name of a record has all words
}

// searchResult is one result.
type searchResult struct {
	Path    string
	Name    []ui.Piece
	Under   []ui.Piece // a key
	Badges  []any
	Excerpt []ui.Piece // the text that has the words, if the name lacks one
}

// Show answers a search. The script search.js shows the results in a dialog.
func (s *Search) Show(r *page.Request) error {
	data := searchData{Text: r.Query("q")}
	words := strings.Fields(data.Text)
	data.addDestinations("pages", "Pages", s.findPages(r), words)
	data.addDestinations("actions", "Actions", s.findActions(r), words)
	switch {
	case len(words) == 0:
		data.Hint = "Search for words, names, owners or keys of records."
	case utf8.RuneCountInString(data.Text) < shortestSearch:
		data.Hint = "Records are searched from 2 characters."
	default:
		found, err := api.SearchRecords(r.Context(), r.Caller, data.Text, resultsOfType)
		if err != nil {
			return err
		}
		var named, others []searchGroup
		for _, group := range found {
			if shown := recordGroup(group, data.Text, words); shown.named {
				named = append(named, shown)
			} else {
				others = append(others, shown)
			}
		}
		data.Groups = slices.Concat(named, data.Groups, others)
		if len(data.Groups) == 0 {
			data.Hint = "Nothing found. Search for other words, or for fewer."
		}
	}
	return r.Render("search", "Search", data)
}

// recordGroup returns the found records of a type.
func recordGroup(found api.SearchGroup, text string, words []string) searchGroup {
	res := found.Resource
	count := ui.FormatNumber(found.Total)
	group := searchGroup{ID: res.Type, Title: res.Page.Title, Count: count}
	if res.Page.Tab != "" {
		group.Title += ": " + res.Page.Tab
	}
	if found.More {
		group.Count = "more than " + count
	}
	if found.More || found.Total > len(found.Records) {
		group.All, group.AllLabel = ui.WithQuery(res.Page.List, "q", text), "All matching "+res.Plural
	}
	for _, record := range found.Records {
		name, under := titleOf(res, record), ""
		result := searchResult{
			Path: Path(res.Type, ui.Text(record["id"])), Name: ui.Mark(name, words), Badges: badgesOf(record),
		}
		if names := res.Page.Names; len(names) > 1 && ui.Text(record[names[0]]) != "" {
			under = ui.Text(record[names[1]])
			result.Under = ui.Mark(under, words)
		}
		if hasAll(name+" "+under, words) {
			group.named = true
		} else {
			result.Excerpt = excerptOf(res, record, words)
		}
		group.Results = append(group.Results, result)
	}
	return group
}

// badgesOf returns the values that sum up the state of a record.
func badgesOf(record api.Record) (values []any) {
	for _, member := range badges {
		if ui.Text(record[member]) != "" {
			values = append(values, record[member])
		}
	}
	return values
}

// excerptOf returns the first searched text, besides the names, that has one of the
// words.
func excerptOf(res *resource.Resource, record api.Record, words []string) []ui.Piece {
	for _, member := range res.Searched {
		if slices.Contains(res.Page.Names, member) {
			continue
		}
		if found := ui.Excerpt(textIn(record[member]), words, excerptLength); found != nil {
			return append([]ui.Piece{{Text: Label(member) + ": "}}, found...)
		}
	}
	return nil
}

// textIn returns the texts in a value, without the names of members.
func textIn(value any) string {
	var parts []any
	switch value := value.(type) {
	case []any:
		parts = value
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			parts = append(parts, value[name])
		}
	default:
		return ui.Text(value)
	}
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = textIn(part)
	}
	return strings.Join(texts, " ")
}

// hasAll reports whether a text has each of the words, in either case.
func hasAll(text string, words []string) bool {
	text = strings.ToLower(text)
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, strings.ToLower(word)) })
}

// addDestinations adds the pages or actions that match.
func (d *searchData) addDestinations(id, title string, all []Destination, words []string) {
	group := searchGroup{ID: id, Title: title}
	for _, one := range all {
		if hasAll(one.Label+" "+one.Words, words) {
			group.Results = append(group.Results, searchResult{Path: one.Path, Name: ui.Mark(one.Label, words)})
		}
	}
	if len(group.Results) > 0 {
		d.Groups = append(d.Groups, group)
	}
}

// findPages returns the pages that the user may open.
func (s *Search) findPages(r *page.Request) []Destination {
	var all []Destination
	for _, group := range r.Navigation() {
		for _, link := range group.Links {
			all = append(all, Destination{Label: link.Label, Path: link.Path, Words: group.Heading})
			for _, p := range s.pages {
				if p.Page.Title == link.Label && p.Page.List != link.Path && unavailable(r, p.Resource) == nil {
					all = append(all, Destination{Label: p.Page.Title + ": " + p.Page.Tab, Path: p.Page.List})
				}
			}
		}
	}
	return append(all, Destination{Label: "Account", Path: "/account", Words: "password second factor sessions"})
}

// findActions returns the actions that the user may take.
func (s *Search) findActions(r *page.Request) []Destination {
	var all []Destination
	for _, p := range s.pages {
		if path := p.Page.Base + "/new"; p.Addable && r.MayOpen(path) && unavailable(r, p.Resource) == nil {
			label := p.newTitle()
			if p.Page.Tab != "" { // several resources have versions
				label += " (" + p.Page.Title + ")"
			}
			all = append(all, Destination{Label: label, Path: path, Words: p.Page.Title + " new create"})
		}
	}
	for _, action := range s.actions {
		if r.MayOpen(action.Path) {
			all = append(all, action)
		}
	}
	return all
}
