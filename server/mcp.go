package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"govsvc/db"
	"govsvc/server/api"
	"govsvc/server/limit"
	"govsvc/server/mcp"
)

// callMcp answers one JSON-RPC message (specification, POST /mcp). The checks
// have the order that MCP clients rely on: origin, credential, limit, media
// type, version, size, message. A 400 has the form of JSON-RPC; any other
// refusal is the API's error envelope (contract, MCP tools).
func (req *request) callMcp(op *route) (api.Response, error) {
	if err := req.server.mcpOrigins.Check(req.r.Header.Values("Origin")); err != nil {
		if limited := req.limitAddress(); limited != nil {
			return api.Response{}, limited
		}
		return api.Response{}, err
	}
	if err := req.admit(); err != nil {
		return api.Response{}, err
	}
	if err := req.checkVersion(); err != nil {
		return refuseMessage(err)
	}
	if err := req.checkMediaType(op); err != nil {
		return api.Response{}, err
	}
	message, err := req.readMessage(op)
	if err == nil {
		_, err = req.bindQuery(op) // it takes no parameters, so that any name is unknown
	}
	if err != nil {
		return refuseMessage(err)
	}
	req.readDataVersion() // a commit may have come before the message
	body := req.server.mcp.Answer(message, req.callTool)
	if body == nil {
		return api.Response{Status: http.StatusAccepted}, nil
	}
	return jsonAnswer(http.StatusOK, body), nil
}

// readMessage reads the message. Only the message shows whether the header
// MCP-Protocol-Version counts, but an unsupported version is reported before
// faults of size and form.
func (req *request) readMessage(op *route) (message mcp.Message, err error) {
	body, err := req.readAll(op.MaxBody)
	if err == nil {
		message, err = mcp.Decode(body)
	}
	if unsupported := mcp.CheckVersion(req.r.Header.Values("MCP-Protocol-Version"), message); unsupported != nil {
		return message, unsupported
	}
	return message, err
}

// refuseMessage converts an error with status 400 to a JSON-RPC error with a null id. It
// returns any other error unchanged.
func refuseMessage(err error) (api.Response, error) {
	var problem *mcp.Error
	if !errors.As(err, &problem) {
		refusal := api.Refusal(err)
		if errorStatuses[refusal.Code].status != http.StatusBadRequest {
			return api.Response{}, err
		}
		problem = mcp.NewError(mcp.CodeInvalidRequest, refusal)
	}
	return jsonAnswer(http.StatusBadRequest, problem.Response(nil)), nil
}

func jsonAnswer(status int, body []byte) api.Response {
	return api.Response{Status: status, ContentType: api.JSON, Body: body}
}

// toolPageBytes is the size at which a page of a tool ends early. The result contains the
// page as text and as structured content, and must stay below 4 MB. Quotation marks take
// two bytes in the text.
const toolPageBytes = db.PageBytes / 3

// callTool runs a tool as HTTP does, with the same check of scope, plan and
// input. A call that can't be understood is an error of JSON-RPC. A refusal or a
// failure is a result for the model to read.
func (req *request) callTool(tool *mcp.Tool, arguments []byte) ([]byte, *mcp.Error) {
	if err := req.caller.Permit(tool.Operation); err != nil {
		return req.toolFailure(err), nil
	}
	key := cacheKey{org: req.caller.Organisation.Org, test: req.caller.Test, op: tool.Operation, tool: true, query: string(arguments)}
	if cached := req.server.cache.Get(req.dataVersion, key); cached != nil {
		if err := req.reserve(int64(len(cached.Body))); err != nil {
			return req.toolFailure(err), nil
		}
		return cached.Body, nil
	}
	done, err := req.reserveDecoding(arguments)
	if err != nil {
		return req.toolFailure(err), nil
	}
	values, err := tool.Arguments(arguments)
	done()
	if err != nil {
		if tool.Parameter("cursor") != nil {
			err = cursorError(err, cursorArgument(arguments))
		}
		return nil, badArgument(tool, api.Refusal(err))
	}
	if err := req.reserve(limit.SmallResponse); err != nil {
		return req.toolFailure(err), nil
	}
	answer, reads, err := req.runRead(tool.Run, api.Input{Query: values, Large: req.reserveLarge, PageBytes: toolPageBytes})
	if err != nil {
		if refusal := api.Refusal(err); errorStatuses[refusal.Code].status == http.StatusBadRequest {
			return nil, badArgument(tool, refusal)
		}
		return req.toolFailure(err), nil
	}
	result := mcp.ToolResult(answer.Body)
	req.server.cache.Put(req.dataVersion, key, &cachedResponse{Response: api.Response{Body: result}}, reads)
	return result, nil
}

// cursorArgument returns the cursor among a tool's arguments, or "" if none is a
// string.
func cursorArgument(arguments []byte) string {
	var given struct{ Cursor any }
	_ = json.Unmarshal(arguments, &given) // arguments that are not an object have no cursor
	cursor, _ := given.Cursor.(string)
	return cursor
}

// badArgument says which argument is wrong and what is allowed. It does not
// repeat the name of an unknown argument, which is the caller's own text.
func badArgument(tool *mcp.Tool, refusal *api.Error) *mcp.Error {
	if refusal.Param == "" || tool.Parameter(refusal.Param) != nil {
		return mcp.NewError(mcp.CodeInvalidParams, refusal)
	}
	takes := "none"
	if len(tool.Parameters) > 0 {
		names := make([]string, len(tool.Parameters))
		for i, p := range tool.Parameters {
			names[i] = p.Name
		}
		takes = strings.Join(names, ", ")
	}
	return &mcp.Error{
		Code: mcp.CodeInvalidParams, Reason: api.InvalidParameter,
		Message: "an argument is not known: " + tool.Tool.Name + " takes " + takes,
	}
}

// toolFailure returns the result with a tool's error: its code, what is wrong,
// and whether another try can help.
func (req *request) toolFailure(err error) []byte {
	refusal := api.Refusal(err)
	text := string(refusal.Code) + ": " + refusal.Message + ". "
	switch refusal.Code {
	case api.InsufficientScope:
		text += "This is final: another call with this key won't help. Tell the user that an administrator can create a key with this scope."
	case api.TierRequired:
		text += "This is final: another call won't help. Tell the user that another plan is needed for this data."
	default:
		req.logFailure(refusal)
		text += "The data could not be read. Try once more; if it fails again, tell the user the request id: " + req.requestID
	}
	return mcp.ToolFailure(text)
}
