package server

import (
	"encoding/json"
	"net/http"
	"strings"

	"govsvc/db"
	"govsvc/server/api"
	"govsvc/server/limit"
	"govsvc/server/openapi"
)

// tool is an operation that MCP offers.
type tool struct {
	op  *openapi.Operation
	run api.Operation
}

// callTool runs an operation as HTTP does, with the same check of scope, plan
// and input. A call that can't be understood is an error of JSON-RPC; what the
// caller may not see, or can't be read, is a result for the model to read.
func (x *request) callTool(f message) (api.Answer, *rpcError) {
	name, ok := unquoted(f.param("name"))
	if !ok {
		return api.Answer{}, badParam("name", "params.name is required, the name of a tool as tools/list shows it")
	}
	t, known := x.mcp.tools[name]
	if !known {
		return api.Answer{}, badParam("name", "there is no such tool; tools/list shows those there are")
	}
	if err := x.caller.Permit(t.op); err != nil {
		return failedAnswer(f.id, x.toolError(err)), nil
	}
	arguments := f.param("arguments")
	q := cacheKey{org: x.caller.Organisation.Org, test: x.caller.Test, op: t.op, tool: true, query: string(arguments)}
	if known := x.kept.Get(x.generation, q); known != nil {
		if err := x.reserve(int64(len(known.Body))); err != nil {
			return failedAnswer(f.id, x.toolError(err)), nil
		}
		return resultAnswer(f.id, known.Body), nil
	}
	done, err := x.decoding(arguments)
	if err != nil {
		return failedAnswer(f.id, x.toolError(err)), nil
	}
	values, err := t.op.Arguments(arguments)
	done()
	if err != nil {
		if t.op.Parameter("cursor") != nil {
			err = cursorFault(err, cursorOf(arguments))
		}
		return api.Answer{}, t.badArgument(api.Refusal(err))
	}
	if err := x.reserve(limit.SmallResponse); err != nil {
		return failedAnswer(f.id, x.toolError(err)), nil
	}
	answer, err := x.runRead(t.run, api.Input{Query: values, Large: x.large, PageBytes: toolPage})
	if err != nil {
		if refusal := api.Refusal(err); failures[refusal.Code].status == http.StatusBadRequest {
			return api.Answer{}, t.badArgument(refusal)
		}
		return failedAnswer(f.id, x.toolError(err)), nil
	}
	result := structuredResult(answer.Body)
	x.kept.Put(x.generation, q, &cachedResponse{Answer: api.Answer{Body: result}})
	return resultAnswer(f.id, result), nil
}

// toolPage is where a page of a tool ends early, in bytes: its result holds the
// page as text and as structured content, and must stay below 4 MB, too. Quotes
// take two bytes in the text.
const toolPage = db.PageBytes / 3

// cursorOf is the cursor among a tool's arguments; "" where there is none that is
// a text.
func cursorOf(arguments []byte) string {
	var given struct{ Cursor any }
	_ = json.Unmarshal(arguments, &given) // arguments that are no object have no cursor
	cursor, _ := given.Cursor.(string)
	return cursor
}

// badArgument says which argument is wrong and what is allowed. The name of an
// argument that there is not is the caller's own text, so it is not repeated.
func (t tool) badArgument(refusal *api.Error) *rpcError {
	if refusal.Param != "" && t.op.Parameter(refusal.Param) == nil {
		return &rpcError{code: rpcInvalidParams, kind: api.InvalidParameter, message: "an argument is not known: " + t.takes()}
	}
	return asRPC(rpcInvalidParams, refusal)
}

func (t tool) takes() string {
	if len(t.op.Parameters) == 0 {
		return t.op.Tool.Name + " takes none"
	}
	names := make([]string, len(t.op.Parameters))
	for i, p := range t.op.Parameters {
		names[i] = p.Name
	}
	return t.op.Tool.Name + " takes " + strings.Join(names, ", ")
}

// toolError is the text of a tool's error: its code, what is wrong, and whether
// another try can help.
func (x *request) toolError(err error) string {
	refusal := api.Refusal(err)
	text := string(refusal.Code) + ": " + refusal.Message + ". "
	switch refusal.Code {
	case api.InsufficientScope:
		return text + "This is final: another call with this key won't help. Tell the user that an administrator can mint a key with this scope."
	case api.TierRequired:
		return text + "This is final: another call won't help. Tell the user that another plan is needed for this data."
	default:
		x.logFailure(refusal)
		return text + "The data could not be read. Try once more; if it fails again, tell the user the request id: " + x.requestID
	}
}
