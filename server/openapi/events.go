package openapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// EventType is a type of webhook event.
type EventType struct {
	Name, Description string
	// Subscribable is false for ping, which only the test operation sends.
	Subscribable bool
	// Sample is the data of a realistic event.
	Sample json.RawMessage
}

// EventTypes lists the types of events in the order of the specification.
func (d *Document) EventTypes() []EventType { return d.events }

// loadEvents reads x-events. An event is listed last, or before the one that its
// member before names.
func loadEvents(events *yaml.Node) []EventType {
	var types []EventType
	for name, event := range pairs(events) {
		at := slices.IndexFunc(types, func(t EventType) bool { return t.Name == text(event, "before") })
		if at < 0 {
			at = len(types)
		}
		types = slices.Insert(types, at, EventType{
			Name: name, Description: text(event, "description"), Subscribable: text(event, "subscribable") != "false",
			Sample: appendJSON(nil, child(event, "sample")),
		})
	}
	return types
}

// eventHeaders are the header parameters of every delivery.
var eventHeaders = []string{
	"EventSignature", "EventType", "EventDelivery",
	"WebhookId", "WebhookTimestamp", "WebhookSignature",
}

// expandEvents turns x-events into the webhooks of OpenAPI 3.1. Each event gets a schema of
// its data and one of its whole body. Its type is added to the enumeration of types that
// can be subscribed to.
func expandEvents(doc *yaml.Node) error {
	schemas := child(doc, "components", "schemas")
	envelope := take(schemas, "Event") // the base of each event's schema
	headers := list()
	for _, header := range eventHeaders {
		headers.Content = append(headers.Content, take(child(doc, "components", "parameters"), header))
	}
	webhooks := object()
	for name, event := range pairs(child(doc, "x-events")) {
		data := child(event, "data")
		if data == nil || child(event, "sample") == nil || text(event, "description") == "" || text(event, "stability") == "" {
			return fmt.Errorf("x-events: %s needs description, stability, data and sample", name)
		}
		component := camel(strings.ReplaceAll(name, ".", "_")) + "Event"
		set(schemas, component+"Data", eventData(name, data))
		set(schemas, component, eventBody(name, component, envelope))
		set(webhooks, name, object("post", eventOperation(name, component, event, headers)))
	}
	set(doc, "webhooks", webhooks)
	enum := child(schemas, "EventType", "enum")
	for _, t := range loadEvents(child(doc, "x-events")) {
		if t.Subscribable {
			enum.Content = append(enum.Content, str(t.Name))
		}
	}
	return nil
}

func eventData(name string, properties *yaml.Node) *yaml.Node {
	required := list()
	for property := range pairs(properties) {
		required.Content = append(required.Content, str(property))
	}
	return object(
		"type", "object",
		"description", "The `data` of an event of type `"+name+"`.",
		"required", required,
		"properties", properties,
	)
}

// eventBody returns the general envelope with the event's own type and data.
func eventBody(name, component string, envelope *yaml.Node) *yaml.Node {
	body := clone(envelope)
	set(body, "description", str("The body of a delivery of type `"+name+"`."))
	properties := child(body, "properties")
	set(properties, "type", object("type", "string", "const", name, "description", "The type of the event."))
	set(properties, "data", refTo("schemas", component+"Data"))
	return body
}

// eventOperation writes out the header parameters: code generators do not
// follow references from webhooks to parameters.
func eventOperation(name, component string, event, headers *yaml.Node) *yaml.Node {
	return object(
		"tags", strs("events"),
		"operationId", "receive"+strings.TrimSuffix(component, "Event"),
		"summary", name,
		"description", text(event, "description"),
		"x-stability", text(event, "stability"),
		"security", list(),
		"parameters", clone(headers),
		"requestBody", object("required", true, "content", object(
			"application/json", object("schema", refTo("schemas", component)))),
		"responses", object(
			"2XX", object("description", "The delivery was received. After any other response it is repeated with backoff."),
		),
	)
}

// camel turns snake_case into UpperCamelCase.
func camel(snake string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(snake, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
