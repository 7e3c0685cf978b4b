package openapi

import "fmt"

// EventType is a type of event that a webhook can subscribe to.
type EventType struct{ Name, Description string }

// EventTypes lists the types of event that can be subscribed to, in the order
// of the document, each with what the document says of it.
func (d *Document) EventTypes() ([]EventType, error) {
	var types []EventType
	for _, p := range d.Operation("createWebhookSubscription").Body.rule.target().properties {
		if p.name != "event_types" {
			continue
		}
		for _, name := range p.rule.target().items.target().options {
			event := child(d.public, "webhooks", name)
			if event == nil {
				return nil, fmt.Errorf("the document describes no event %s", name)
			}
			types = append(types, EventType{name, text(event, "post", "description")})
		}
	}
	return types, nil
}
