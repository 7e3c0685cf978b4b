package web

// Noun is a family of records as its pages have it.
type Noun struct {
	Object, List, Base string
	Adds, Changes      bool
}

// Nouns lists them.
func Nouns() []Noun {
	var list []Noun
	for _, n := range nouns {
		list = append(list, Noun{n.object, n.list, n.base, n.adds, n.changes})
	}
	return list
}
