package server

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"govsvc/server/api"
	"govsvc/server/openapi"
)

// protocolVersions are the versions of MCP that are spoken, newest first
// (specification, POST /mcp).
var protocolVersions = []string{"2025-06-18", "2025-03-26", "2024-11-05"}

// mcp is what the MCP server is made of. All of it is known at start: tools and
// schemas are those of the document, and results that never change are kept as
// they are sent.
type mcp struct {
	origins     origins
	tools       map[string]tool
	toolList    []byte            // the result of tools/list
	initialized map[string][]byte // the result of initialize, by the version asked for
}

func newMCP(config Config, functions map[string]api.Operation) (*mcp, error) {
	m := &mcp{tools: map[string]tool{}, initialized: map[string][]byte{}}
	var err error
	if m.origins, err = newOrigins(config.BaseURL, config.AllowOrigins); err != nil {
		return nil, err
	}
	var shown []*openapi.Tool
	for _, op := range config.Document.Operations {
		if op.Tool == nil {
			continue
		}
		if functions[op.ID] == nil {
			return nil, fmt.Errorf("tool %s has no function", op.Tool.Name)
		}
		m.tools[op.Tool.Name] = tool{op, functions[op.ID]}
		shown = append(shown, op.Tool)
	}
	if m.toolList, err = listOfTools(shown); err != nil {
		return nil, err
	}
	for _, version := range protocolVersions {
		m.initialized[version], err = greeting(version, cmp.Or(config.Version, "(devel)"))
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// callMcp answers one JSON-RPC message (specification, POST /mcp). The checks
// come in the order that MCP clients count on: origin, credential, limit, media
// type, version, size, message. A 400 has the form of JSON-RPC, any other
// refusal of the request the API's error envelope (contract, MCP tools).
func (x *request) callMcp(op *route) (api.Answer, error) {
	if !x.mcp.origins.admit(x.r.Header.Values("Origin")) {
		if limited := x.limitAddress(); limited != nil {
			return api.Answer{}, limited
		}
		return api.Answer{}, errOrigin
	}
	if err := x.admit(); err != nil {
		return api.Answer{}, err
	}
	if err := x.checkVersion(); err != nil {
		return refusedMessage(err)
	}
	if err := x.checkMediaType(op); err != nil {
		return api.Answer{}, err
	}
	f, err := x.readFrame(op)
	if err == nil {
		_, err = x.bindQuery(op) // it takes no parameters: an unknown name is told, as everywhere
	}
	if err != nil {
		return refusedMessage(err)
	}
	return x.answerFrame(f), nil
}

// readFrame reads the message. The header MCP-Protocol-Version does not count
// on initialize, which is what agrees on a version, and that takes reading the
// message. Still a wrong version is told before a wrong size or form.
func (x *request) readFrame(op *route) (message, error) {
	var f message
	body, err := x.readAll(op.MaxBody)
	if err == nil {
		f, err = decodeFrame(body)
	}
	if !speaks(x.r.Header.Values("MCP-Protocol-Version")) && (err != nil || f.method != "initialize") {
		return f, errProtocolVersion
	}
	return f, err
}

// speaks tells whether the header names one version that is spoken, or is not
// there.
func speaks(headers []string) bool {
	return len(headers) == 0 || len(headers) == 1 && slices.Contains(protocolVersions, headers[0])
}

var errProtocolVersion = &rpcError{
	code:    rpcInvalidRequest,
	message: "MCP-Protocol-Version must be one of " + strings.Join(protocolVersions, ", ") + ", or left out",
}

// refusedMessage gives a refusal that is a 400 the form of JSON-RPC, with a null
// id; others go on as they are.
func refusedMessage(err error) (api.Answer, error) {
	var refusal *rpcError
	if !errors.As(err, &refusal) {
		known := api.Refusal(err)
		if failures[known.Code].status != http.StatusBadRequest {
			return api.Answer{}, err
		}
		refusal = asRPC(rpcInvalidRequest, known)
	}
	return jsonAnswer(http.StatusBadRequest, refusal.appendTo(appendStart(nil, nil))), nil
}

func jsonAnswer(status int, body []byte) api.Answer {
	return api.Answer{Status: status, ContentType: api.JSON, Body: body}
}
