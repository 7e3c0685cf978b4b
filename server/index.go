package server

import (
	"net/http"
	"strings"

	"govsvc/db"
	"govsvc/server/api"
	"govsvc/server/openapi"
)

// index is the response of GET / (specification, Public; contract, Index).
type index struct {
	Object            string           `json:"object"`
	APIVersion        string           `json:"api_version"`
	SupportedVersions []string         `json:"supported_versions"`
	OpenAPIURL        string           `json:"openapi_url"`
	Resources         []indexResource  `json:"resources"`
	Operations        []indexOperation `json:"operations"`
}

type indexResource struct {
	Name        string `json:"name"`
	Object      string `json:"object"`
	Path        string `json:"path"`
	Scope       string `json:"scope"`
	Description string `json:"description"`
}

type indexOperation struct {
	OperationID string `json:"operation_id"`
	Method      string `json:"method"`
	Path        string `json:"path"`
	Scope       string `json:"scope"`
	Summary     string `json:"summary"`
}

func (s *Server) index() (api.Response, error) {
	page := index{
		Object: "api_index", APIVersion: db.APIVersion, SupportedVersions: []string{db.APIVersion},
		OpenAPIURL: s.BaseURL + Base + "/openapi.json",
		Resources:  []indexResource{}, Operations: []indexOperation{},
	}
	for _, op := range s.Document.Operations {
		if op.Public || op.Scope == "" {
			continue
		}
		if op.Method == "GET" {
			page.Resources = append(page.Resources, resource(op))
		}
		if !strings.HasPrefix(op.Scope, "read:") { // writes and management
			page.Operations = append(page.Operations, indexOperation{op.ID, op.Method, op.Path, op.Scope, op.Summary})
		}
	}
	body, err := api.EncodeJSON(page)
	return jsonAnswer(http.StatusOK, body), err
}

func resource(op *openapi.Operation) indexResource {
	name := strings.ReplaceAll(strings.TrimPrefix(op.Path, "/"), "/", "_")
	return indexResource{Name: name, Object: op.Returns.Object, Path: op.Path, Scope: op.Scope, Description: op.Summary}
}
