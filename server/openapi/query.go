package openapi

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxName bounds, in bytes, how much of an unknown parameter's name a fault
// gives back.
const maxName = 200

// Query binds the query of a request. Its error is a *Fault that names the
// parameter: one that is unknown, repeated, empty or malformed.
func (o *Operation) Query(values url.Values) (Values, error) {
	given := make(map[string]any, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		p := o.Parameter(name)
		if p == nil {
			return nil, &ValidationError{Param: strings.ToValidUTF8(name[:min(len(name), maxName)], "\ufffd"), Message: shownName(name) + " is not a known parameter"}
		}
		switch all := values[name]; {
		case len(all) > 1:
			return nil, &ValidationError{Param: name, Message: name + " is given more than once"}
		case len(all) == 0 || all[0] == "":
			return nil, &ValidationError{Param: name, Message: name + " must not be empty"}
		case !utf8.ValidString(all[0]):
			return nil, &ValidationError{Param: name, Message: name + " must be valid UTF-8"}
		case strings.IndexByte(all[0], 0) >= 0:
			return nil, &ValidationError{Param: name, Message: name + " must not hold the NUL character"}
		default:
			given[name] = p.typed(all[0])
		}
	}
	return o.bind(given)
}

// Arguments binds the arguments of the operation's MCP tool: a JSON object,
// or nothing. It refuses what Query refuses.
func (o *Operation) Arguments(raw []byte) (Values, error) {
	if len(raw) == 0 {
		return o.bind(map[string]any{})
	}
	v, faults := o.input.Decode(raw)
	if faults != nil {
		return nil, &faults[0]
	}
	return o.values(v.(map[string]any)), nil
}

func (o *Operation) bind(given map[string]any) (Values, error) {
	if faults := o.input.validate(given); faults != nil {
		return nil, &faults[0]
	}
	return o.values(given), nil
}

// values fills in the defaults of validated parameters.
func (o *Operation) values(given map[string]any) Values {
	bound := make(Values, len(o.Parameters))
	for _, p := range o.Parameters {
		switch v := given[p.Name].(type) {
		case json.Number:
			i, _ := v.Int64() // an integer within the bounds of the schema
			bound[p.Name] = int(i)
		case string:
			bound[p.Name] = v
		default:
			if p.Default != nil {
				bound[p.Name] = p.Default
			}
		}
	}
	return bound
}

// typed gives a query value the type of its parameter. What is no plain
// decimal stays a string, which the schema then refuses in its own words.
func (p *Parameter) typed(s string) any {
	if !p.Integer {
		return s
	}
	if i, err := strconv.Atoi(s); err == nil && strconv.Itoa(i) == s {
		return json.Number(s)
	}
	return s
}
