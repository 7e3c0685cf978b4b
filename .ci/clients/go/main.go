// Command clients is a Go client with code that oapi-codegen generated.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/oapi-codegen/nullable"

	"govsvc/clients/generated"
)

func main() {
	log.SetFlags(0)
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	authenticate := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
		return nil
	}
	api, err := generated.NewClientWithResponses(os.Getenv("BASE_URL"), generated.WithRequestEditorFn(authenticate))
	if err != nil {
		return err
	}
	risks, pages, err := readPages(ctx, api)
	if err != nil {
		return fmt.Errorf("paging: %w", err)
	}
	id, err := create(ctx, api)
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := patchNull(ctx, api, id); err != nil {
		return fmt.Errorf("PATCH with null: %w", err)
	}
	if err := checkIn(ctx, api); err != nil {
		return fmt.Errorf("check-in: %w", err)
	}
	if err := errorResponse(ctx, api); err != nil {
		return fmt.Errorf("error: %w", err)
	}
	fmt.Printf("%d risks on %d pages, a create, a PATCH with null, a check-in and an error\n", risks, pages)
	return nil
}

// readPages reads all pages of the list of risks and checks that no risk is repeated.
func readPages(ctx context.Context, api *generated.ClientWithResponses) (risks, pages int, err error) {
	ids := map[string]bool{}
	limit := generated.Limit(7)
	var cursor *generated.Cursor
	for {
		answer, err := api.ListRisksWithResponse(ctx, &generated.ListRisksParams{Limit: &limit, Cursor: cursor})
		if err != nil {
			return 0, 0, err
		}
		if answer.JSON200 == nil {
			return 0, 0, fmt.Errorf("%s: %s", answer.Status(), answer.Body)
		}
		for _, risk := range answer.JSON200.Data {
			if ids[risk.Id] || risk.CreatedAt.IsZero() {
				return 0, 0, fmt.Errorf("the risk %s was repeated or has no time", risk.Id)
			}
			ids[risk.Id] = true
		}
		pages++
		if !answer.JSON200.HasMore {
			break
		}
		next, err := answer.JSON200.NextCursor.Get()
		if err != nil {
			return 0, 0, err
		}
		cursor = &next
	}
	if pages < 4 || len(ids) < 20 {
		return 0, 0, fmt.Errorf("%d risks on %d pages", len(ids), pages)
	}
	return len(ids), pages, nil
}

// create creates a risk and returns its id.
func create(ctx context.Context, api *generated.ClientWithResponses) (id string, err error) {
	owner := "Model owner"
	answer, err := api.CreateRiskWithResponse(ctx, &generated.CreateRiskParams{IdempotencyKey: newIdempotencyKey()}, generated.CreateRisk{
		Title:       "Drift",
		Description: "Decisions drift with the season of the year.",
		Severity:    generated.CreateRiskSeverityHIGH,
		Likelihood:  generated.CreateRiskLikelihoodPOSSIBLE,
		OwnerName:   &owner,
	})
	if err != nil {
		return "", err
	}
	if answer.JSON201 == nil {
		return "", fmt.Errorf("%s: %s", answer.Status(), answer.Body)
	}
	risk := answer.JSON201.Data
	if source, err := risk.Source.Get(); err != nil || source != "user_added" {
		return "", fmt.Errorf("source %q, %v", source, err)
	}
	if got, err := risk.OwnerName.Get(); err != nil || got != owner {
		return "", fmt.Errorf("owner %q, %v", got, err)
	}
	return risk.Id, nil
}

// patchNull clears the owner of a risk by sending null.
func patchNull(ctx context.Context, api *generated.ClientWithResponses, id string) error {
	answer, err := api.UpdateRiskWithResponse(ctx, id, nil, generated.UpdateRisk{OwnerName: nullable.NewNullNullable[string]()})
	if err != nil {
		return err
	}
	if answer.JSON200 == nil {
		return fmt.Errorf("%s: %s", answer.Status(), answer.Body)
	}
	if !answer.JSON200.Data.OwnerName.IsNull() {
		return fmt.Errorf("the owner was not cleared: %s", answer.Body)
	}
	return nil
}

// checkIn sends a value that float32 can't represent.
func checkIn(ctx context.Context, api *generated.ClientWithResponses) error {
	limit := generated.Limit(1)
	kpis, err := api.ListKpisWithResponse(ctx, &generated.ListKpisParams{Limit: &limit})
	if err != nil {
		return err
	}
	if kpis.JSON200 == nil || len(kpis.JSON200.Data) != 1 {
		return fmt.Errorf("%s: %s", kpis.Status(), kpis.Body)
	}
	const value = 16777217.25
	point := generated.CreateKpiCheckin{KeyResultCode: &kpis.JSON200.Data[0].Code, Value: value}
	answer, err := api.CreateKpiCheckinsWithResponse(ctx, &generated.CreateKpiCheckinsParams{IdempotencyKey: newIdempotencyKey()},
		generated.CreateKpiCheckins{Checkins: []generated.CreateKpiCheckin{point}})
	if err != nil {
		return err
	}
	if answer.JSON201 == nil || answer.JSON201.Data.Accepted != 1 || answer.JSON201.Data.Checkins[0].Value != value {
		return fmt.Errorf("%s: %s", answer.Status(), answer.Body)
	}
	return nil
}

// errorResponse reads the JSON error object of a 404 response.
func errorResponse(ctx context.Context, api *generated.ClientWithResponses) error {
	title := nullable.NewNullableWithValue("Unknown")
	answer, err := api.UpdateRiskWithResponse(ctx, "01990000-0000-7000-8000-000000000000", nil, generated.UpdateRisk{Title: title})
	if err != nil {
		return err
	}
	if answer.JSON404 == nil {
		return fmt.Errorf("%s: %s", answer.Status(), answer.Body)
	}
	refusal := answer.JSON404.Error
	if refusal.Code != generated.ErrorErrorCodeNotFound || refusal.RequestId != answer.HTTPResponse.Header.Get("X-Request-Id") {
		return fmt.Errorf("refusal %+v", refusal)
	}
	return nil
}

var keys int

// newIdempotencyKey returns a different key on each call.
func newIdempotencyKey() string {
	keys++
	return fmt.Sprintf("go-%d-%d", time.Now().UnixNano(), keys)
}
