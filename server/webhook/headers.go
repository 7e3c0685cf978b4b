package webhook

import (
	"net/http"
	"strconv"
	"time"

	"govsvc/db"
)

// Agent is what a version of the program calls itself to receivers.
func Agent(version string) string {
	if version == "" {
		return "govsvc"
	}
	return "govsvc/" + version
}

// Headers are those of an attempt at an instant, but for its signatures: what
// they say can be told again at any time, without a secret.
func Headers(agent, delivery string, m db.Message, at time.Time) http.Header {
	return http.Header{
		"Content-Type":  {"application/json"},
		"User-Agent":    {agent},
		HeaderEvent:     {m.Type},
		HeaderDelivery:  {delivery},
		HeaderID:        {m.ID},
		HeaderTimestamp: {strconv.FormatInt(at.Unix(), 10)},
	}
}
