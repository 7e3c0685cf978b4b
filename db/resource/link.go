package resource

// Link joins two records whose resources are Linked. It has no direction.
var Link = register(Resource{
	Type: "link", Singular: "link", Plural: "links",
	ImportOrder: 150,

	Table: "links", Key: []string{"record_type", "record_id", "other_type", "other_id"},
	Internal: []string{"record_id", "other_id"},
	Derived:  []string{"record_key", "other_key"},

	Addable: true,
})

// Linked returns the resources whose records people link, comment on, attach files to
// and archive in the dashboard, in the order of its navigation.
func Linked() []*Resource {
	var linked []*Resource
	for _, r := range Pages() {
		if r.Linked {
			linked = append(linked, r)
		}
	}
	return linked
}
