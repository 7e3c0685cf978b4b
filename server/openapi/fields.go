package openapi

// Field describes a member of a body or record, for the form that asks for it.
type Field struct {
	Name        string
	Type        string   // "string", "number", "integer", "boolean", "array" or "object"
	Enum        []string // the valid values; nil if there is no such list
	Format      string   // "date", "date-time", …; "" for plain text
	MinLength   int      // characters of a text, without white space around it; 0 is no bound
	MaxLength   int      // characters of a text; 0 is no bound
	Minimum     *float64 // of a number; nil is no bound
	Maximum     *float64
	Required    bool
	Nullable    bool
	Default     string // "" if it has none
	Description string
	Items       []Field // members of an array's objects; nil for an array of plain values
	Item        *Field  // a value of an array of plain values; nil for others
	Members     []Field // of an object; nil for an object whose names are free
	Value       *Field  // a value of an object whose names are free; nil for others
}

// Fields returns the members of a body or a record, in the order of the document. The
// name is an operationId or a type of the data format. It returns nil for other names.
func (d *Document) Fields(operationOrRecord string) []Field {
	if op := d.Operation(operationOrRecord); op != nil {
		if op.Body == nil {
			return nil
		}
		return op.Body.rule.fields()
	}
	if schema := d.Record(operationOrRecord); schema != nil {
		return schema.rule.fields()
	}
	return nil
}

func (r *rule) fields() []Field {
	var all []Field
	for _, p := range r.target().properties {
		if p.rule != nil {
			all = append(all, p.field())
		}
	}
	return all
}

func (p property) field() Field {
	r := p.rule.target()
	f := Field{
		Name: p.name, Type: r.typeName(), Enum: r.options, Format: r.formatName,
		MinLength: r.minLength, MaxLength: r.maxLength, Minimum: r.minimum, Maximum: r.maximum,
		Required: p.required, Nullable: r.types&typeNull != 0, Default: r.defaultText, Description: p.rule.description,
	}
	if f.Description == "" {
		f.Description = r.description
	}
	if r.items != nil {
		if f.Items = r.items.fields(); f.Items == nil {
			f.Item = plainField(r.items)
		}
	}
	if f.Type == "object" {
		f.Members = r.fields()
		if r.additional != nil {
			f.Value = plainField(r.additional)
		}
	}
	return f
}

// plainField describes a value that has no name.
func plainField(r *rule) *Field {
	f := property{rule: r}.field()
	return &f
}

// Property describes a member of an object schema.
type Property struct {
	Name     string
	Type     string // "string", "number", "integer", "boolean", "array", "object" or "null"
	Required bool
	Nullable bool
	Enum     []string // the valid values; nil if any is
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
			Nullable: r.types&typeNull != 0,
			Enum:     r.options,
		})
	}
	return all
}

// typeName returns the type that is not null, if there is one.
func (r *rule) typeName() string {
	for _, name := range []string{"integer", "string", "number", "boolean", "array", "object"} {
		if kinds := typeNames[name]; r.types&kinds == kinds {
			return name
		}
	}
	return "null"
}
