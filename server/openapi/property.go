package openapi

// Property describes a member of an object schema, for what is made from it:
// columns of CSV and fields of forms.
type Property struct {
	Name     string
	Type     string // "string", "number", "integer", "boolean", "array", "object" or "null"
	Required bool
	Nullable bool
	Enum     []string // the values allowed; nil where they are free
}

// Properties returns the members in the order of the document.
func (s *Schema) Properties() []Property {
	var all []Property
	for _, p := range s.rule.target().properties {
		if p.rule == nil {
			continue
		}
		r := p.rule.target()
		all = append(all, Property{
			Name:     p.name,
			Type:     r.typeName(),
			Required: p.required,
			Nullable: r.kinds&kindNull != 0,
			Enum:     r.options,
		})
	}
	return all
}

// typeName returns the type that is not null, if there is one.
func (r *rule) typeName() string {
	for _, name := range []string{"integer", "string", "number", "boolean", "array", "object"} {
		if kinds := typeNames[name]; r.kinds&kinds == kinds {
			return name
		}
	}
	return "null"
}
