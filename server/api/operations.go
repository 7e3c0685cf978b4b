package api

import (
	"context"
	"fmt"
	"slices"

	"govsvc/db/resource"
	"govsvc/server/openapi"
)

// operations are the functions of the operations, by operationId.
var operations = map[string]Operation{}

// register adds a function. The file that has the function calls it when the
// package is initialized.
func register[R Result](id string, run func(context.Context, *Caller, Input) (R, error)) {
	operations[id] = func(ctx context.Context, c *Caller, in Input) (Result, error) { return run(ctx, c, in) }
}

// The operations of resources come from the descriptors, unless a file registers a
// function for the operation.
func init() {
	for _, r := range resource.All() {
		for id, run := range map[string]Operation{
			r.List.Operation: list(r), r.Current.Operation: current(r), r.Create: create(r), r.Update: update(r),
		} {
			if id != "" && operations[id] == nil {
				operations[id] = run
			}
		}
	}
}

// ownOperations are those that package server answers itself: they describe the
// API, or are another way to the operations here.
var ownOperations = []string{"getIndex", "getDocument", "callMcp"}

// Bind pairs the document's operations with their functions. It fails if one of
// the two has an operation that the other does not have.
func Bind(document *openapi.Document) (map[string]Operation, error) {
	for _, op := range document.Operations {
		if operations[op.ID] == nil && !slices.Contains(ownOperations, op.ID) {
			return nil, fmt.Errorf("operation %s of the document has no function", op.ID)
		}
	}
	for id := range operations {
		if document.Operation(id) == nil {
			return nil, fmt.Errorf("function %s has no operation in the document", id)
		}
	}
	for _, r := range resource.All() {
		if err := checkFilters(document.Operation(r.List.Operation), r); err != nil {
			return nil, err
		}
	}
	return operations, nil
}

// checkFilters checks that the parameters of a list are the filters of its
// resource. op is nil if the API has no list.
func checkFilters(op *openapi.Operation, r *resource.Resource) error {
	if op == nil {
		return nil
	}
	want := []string{"cursor", "limit"}
	for parameter := range r.List.Filters {
		want = append(want, parameter)
	}
	if r.List.UpdatedSince {
		want = append(want, "updated_since")
	}
	var have []string
	for _, p := range op.Parameters {
		have = append(have, p.Name)
	}
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(want, have) {
		return fmt.Errorf("operation %s has parameters %v in the document, its resource has %v", op.ID, have, want)
	}
	return nil
}
