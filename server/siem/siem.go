// Package siem encodes audit events for security systems in CEF (ArcSight Common Event
// Format) and OCSF (Open Cybersecurity Schema Framework). Each event is one line.
package siem

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// Source has the fields that all events of a log share.
type Source struct {
	Version          string // of govsvc
	OrganisationID   string
	OrganisationName string
}

const product = "govsvc"

// event is an audit_event of the API.
type event struct {
	ID           string         `json:"id"`
	Time         string         `json:"time"`
	Actor        string         `json:"actor"`
	Action       string         `json:"action"`
	Category     string         `json:"category"`
	ResourceType *string        `json:"resource_type"`
	ResourceID   *string        `json:"resource_id"`
	Severity     int            `json:"severity"`
	Metadata     map[string]any `json:"metadata"`

	at time.Time
}

func parse(text []byte) (*event, error) {
	e := &event{}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber() // a double would round large numbers
	err := decoder.Decode(e)
	if err == nil {
		e.at, err = time.Parse(time.RFC3339, e.Time)
	}
	if err != nil {
		return nil, fmt.Errorf("audit event %s: %w", e.ID, err)
	}
	return e, nil
}

// keyID returns the id of the API key that acted, or false if the actor is no key.
func (e *event) keyID() (string, bool) { return strings.CutPrefix(e.Actor, "key:") }

// system is the actor if neither a user nor a key acted.
const system = "system"

// requestID returns the id of the API request of the event, or "".
func (e *event) requestID() string {
	id, _ := e.Metadata["request_id"].(string)
	return id
}

// address returns the network address of the client, or "".
func (e *event) address() string {
	text, _ := e.Metadata["address"].(string)
	if _, err := netip.ParseAddr(text); err != nil {
		return ""
	}
	return text
}

// failed reports whether the event is of a refused or failed attempt.
func (e *event) failed() bool {
	return strings.HasSuffix(e.Action, "refused") || strings.HasSuffix(e.Action, "failed")
}

// verb returns what was done. For a write through the API it is the operation in
// the metadata, for any other event the verb in the action.
func (e *event) verb() string {
	words := strings.Split(e.Action, ".")
	if words[0] == "api" && len(words) > 1 {
		if operation, ok := e.Metadata["operation"].(string); ok {
			return operation
		}
		return words[1]
	}
	return words[len(words)-1]
}

// message returns a sentence about the event.
func (e *event) message() string {
	text := e.Action + " by " + e.Actor
	if e.ResourceType != nil {
		text += " on " + *e.ResourceType
	}
	if e.ResourceID != nil {
		text += " " + *e.ResourceID
	}
	return text
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// compact encodes a value that was decoded from JSON.
func compact(v any) ([]byte, error) {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return []byte(strings.TrimSuffix(text.String(), "\n")), err
}
