package api

import (
	"bytes"
	"encoding/json"
)

// EncodeJSON encodes a value like json.Marshal but does not escape <, > and &. People
// read the texts, and no response of the service is part of an HTML page.
func EncodeJSON(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}
