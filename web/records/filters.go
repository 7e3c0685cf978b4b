package records

import (
	"slices"
	"strings"

	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// filterBar returns the filters above the list.
func (p *Pages) filterBar(r *page.Request, view listView) (ui.Filters, error) {
	bar := ui.Filters{
		Action: p.Page.List, Search: &ui.Field{Name: "q", Label: "Search", Value: view.Search}, Hidden: map[string]string{},
		Active: view.Search != "" || len(view.Filters) > 0, Live: true,
	}
	for name, value := range map[string]string{"sort": view.Sort, columnsParameter: view.address} {
		if value != "" {
			bar.Hidden[name] = value
		}
	}
	for _, filter := range p.filters {
		field, err := p.filterField(r, filter, view.Filters[filter.Name])
		if err != nil {
			return bar, err
		}
		if filter.Instant || filter.Name == api.ArchivedFilter {
			bar.More = append(bar.More, field)
		} else {
			bar.Fields = append(bar.Fields, field)
		}
	}
	return bar, nil
}

// filterField returns the field of a filter: a choice, a text or a date.
func (p *Pages) filterField(r *page.Request, filter api.Filter, value string) (*ui.Field, error) {
	field := &ui.Field{Name: filter.Name, Label: Label(filter.Column), Value: value}
	switch {
	case filter.Instant:
		field.Label, field.Type, field.Value = Label(filter.Name), "date", ui.DateInput(value)
	case filter.Name == api.ArchivedFilter:
		field.Label, field.Blank, field.Options = Label(filter.Name), "Not shown", []ui.Option{{Value: api.ArchivedOnly, Label: "Only archived"}}
	case filter.Name == api.DueFilter:
		field.Label, field.Options = p.dueLabel(), dueOptions
	case filter.Choices:
		if name := p.Choices[filter.Column]; name != "" {
			field.Label = Label(name)
		}
		return field, p.offerChoices(r, filter, field)
	case filter.Values == nil:
		field.Type, field.MaxLength = "text", 200
	default:
		field.Options = ui.Options(filter.Values...)
		if several := strings.Split(value, ","); len(several) > 1 {
			for i, one := range several {
				several[i] = ui.Humanize(one)
			}
			field.Options = append([]ui.Option{{Value: value, Label: strings.Join(several, " or ")}}, field.Options...)
		}
	}
	return field, nil
}

// dueOptions are the values of the filter by when open records need attention.
var dueOptions = []ui.Option{
	{Value: api.Overdue, Label: "Overdue"},
	{Value: api.DueThisWeek, Label: "Within 7 days"},
	{Value: api.DueThisMonth, Label: "Within 30 days"},
	{Value: api.NotDue, Label: "No date"},
}

// dueLabel returns the label of the filter by when open records need attention.
func (p *Pages) dueLabel() string {
	if p.Attention.Due == "" {
		return "Check-in due"
	}
	return Label(p.Attention.Due)
}

// offerChoices lets the user choose a value that records have. If there are too many
// values to choose from, the filter remains a text.
func (p *Pages) offerChoices(r *page.Request, filter api.Filter, field *ui.Field) error {
	choices, more, err := api.FilterChoices(r.Context(), r.Caller, p.Type, filter)
	if err != nil {
		return err
	}
	if more || len(choices) == 0 {
		field.Type, field.MaxLength = "text", 200
		return nil
	}
	for _, choice := range choices {
		label := choice.Name
		if label != choice.Value {
			label = shortRegime(label)
		} else if codes[filter.Name] {
			label = ui.CodeLabel(label)
		}
		field.Options = append(field.Options, ui.Option{Value: choice.Value, Label: ui.Truncate(label, 60)})
	}
	slices.SortStableFunc(field.Options, func(a, b ui.Option) int { return strings.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label)) })
	known := func(option ui.Option) bool { return option.Value == field.Value }
	if field.Value != "" && !slices.ContainsFunc(field.Options, known) {
		field.Options = append([]ui.Option{{Value: field.Value, Label: "Contains “" + field.Value + "”"}}, field.Options...)
	}
	return nil
}
