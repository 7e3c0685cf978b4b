package openapi

import (
	"encoding/json"
	"fmt"
)

// EventType is a type of event that a webhook can subscribe to.
type EventType struct{ Name, Description string }

// EventTypes lists the types of event that can be subscribed to, in the order
// of the document, each with what the document says of it.
func (d *Document) EventTypes() ([]EventType, error) {
	var served struct {
		Webhooks map[string]struct {
			Post struct {
				Description string `json:"description"`
			} `json:"post"`
		} `json:"webhooks"`
	}
	if err := json.Unmarshal(d.json, &served); err != nil {
		return nil, fmt.Errorf("the webhooks of the document: %w", err)
	}
	var types []EventType
	for _, p := range d.Operation("createWebhookSubscription").Body.rule.target().properties {
		if p.name != "event_types" {
			continue
		}
		for _, name := range p.rule.target().items.target().options {
			types = append(types, EventType{name, served.Webhooks[name].Post.Description})
		}
	}
	return types, nil
}
