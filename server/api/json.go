package api

import (
	"bytes"
	"encoding/json"
)

// EncodeJSON is json.Marshal that leaves <, > and & as they are: people read the
// texts, and no answer of the service is part of an HTML page.
func EncodeJSON(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}
