// Package siem writes audit events in the formats that security systems read:
// CEF (ArcSight Common Event Format) and OCSF (Open Cybersecurity Schema
// Framework), one line an event.
package siem

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// Source is what all events of a log have in common.
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

// keyID is the id of the API key that acted, if one did.
func (e *event) keyID() (string, bool) { return strings.CutPrefix(e.Actor, "key:") }

// system is the actor where no user and no key acted.
const system = "system"

// requestID is the API's id of the request that did it, or "".
func (e *event) requestID() string {
	id, _ := e.Metadata["request_id"].(string)
	return id
}

// address is the network address of the client, or "".
func (e *event) address() string {
	text, _ := e.Metadata["address"].(string)
	if _, err := netip.ParseAddr(text); err != nil {
		return ""
	}
	return text
}

// failed tells the events of what was tried and refused.
func (e *event) failed() bool {
	return strings.HasSuffix(e.Action, "refused") || strings.HasSuffix(e.Action, "failed")
}

// verb is what was done: of a write through the API the operation that its
// metadata names, of any other event the verb in its action.
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

// message says in a sentence what happened.
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

// compact encodes what came as JSON.
func compact(v any) ([]byte, error) {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return []byte(strings.TrimSuffix(text.String(), "\n")), err
}
