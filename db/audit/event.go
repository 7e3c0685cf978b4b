// Package audit defines the events of the audit log, their JSON and the chain of their
// hashes. Package db stores and reads them.
package audit

import "reflect"

// Category routes an audit event in a SIEM (contract, section 4).
type Category string

// The categories.
const (
	Authentication Category = "authentication"
	Authorization  Category = "authorization"
	DataAccess     Category = "data_access"
	DataChange     Category = "data_change"
	Configuration  Category = "configuration"
	KeyManagement  Category = "key_management"
	Webhook        Category = "webhook"
	Export         Category = "export"
	System         Category = "system"
)

// Severities of audit events on the CEF scale of 0 to 10 (contract, section 4).
const (
	SeverityRead     = 1
	SeverityWrite    = 3
	SeveritySettings = 5
	SeverityRefused  = 5
	SeverityKeys     = 6
	SeverityRestore  = 8
)

// Event is what a change appends to the audit log, which adds the id, the time and
// the actor. It never holds a secret.
type Event struct {
	Action       string
	Category     Category
	ResourceType string // "" if no one record was acted on
	ResourceID   string
	Severity     int
	Metadata     Metadata
}

// Metadata is the detail of an event.
type Metadata map[string]any

// Change is the value of a member before and after. The log stores values longer than
// 2 KB as a Digest.
type Change struct {
	From any `json:"from"`
	To   any `json:"to"`
}

// Changes are the members of a record that a change set, by name.
type Changes map[string]Change

// Moved removes the members that are equal before and after, and returns the rest.
func (c Changes) Moved() Changes {
	for name, change := range c {
		if reflect.DeepEqual(change.From, change.To) {
			delete(c, name)
		}
	}
	return c
}

// Entry is an event as it is stored, hashed and served.
type Entry struct {
	Object       string   `json:"object"`
	ID           string   `json:"id"`
	Time         string   `json:"time"`
	Actor        string   `json:"actor"`
	Action       string   `json:"action"`
	Category     Category `json:"category"`
	ResourceType *string  `json:"resource_type"`
	ResourceID   *string  `json:"resource_id"`
	Severity     int      `json:"severity"`
	Metadata     Metadata `json:"metadata,omitempty"`
}
