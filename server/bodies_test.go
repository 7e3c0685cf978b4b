package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"govsvc/server"
	"govsvc/server/limit"
)

// TestBodyBudget_LargeBodiesWait checks that a large body gets a 503 with Retry-After
// if the budget has no room to read or decode it. A small body is served at the same
// time. All room is returned to the budget.
func TestBodyBudget_LargeBodiesWait(t *testing.T) {
	t.Parallel()
	large := fmt.Sprintf(`{"checkins":[{"key_result_code":"K","value":1,"note":%q}]}`, strings.Repeat("n", 50_000))
	refused := []string{"Retry-After: 1\r"}
	for name, held := range map[string]func(*server.Config) *limit.Budget{
		"while it is read":    func(c *server.Config) *limit.Budget { return c.Responses },
		"while it is decoded": func(c *server.Config) *limit.Budget { return c.Decoding },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const size = 4 << 20
			var config server.Config
			d := serveWrites(t, func(c *server.Config) {
				c.Responses, c.Decoding = limit.NewBudget(size, 50*time.Millisecond), limit.NewBudget(size, 50*time.Millisecond)
				config = *c
			})
			budget := held(&config)
			var all []limit.Reservation // small reservations take the last eighth
			for i, bytes := range []int64{size * 7 / 8, limit.SmallResponse, size/8 - limit.SmallResponse} {
				r, err := budget.Reserve(t.Context(), fmt.Sprint("another ", i), bytes)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, r)
			}
			writes := []write{
				{path: "/kpis/checkins", body: large, status: 503, code: "service_unavailable", has: refused},
				{path: "/kpis/checkins", body: large, stream: true, status: 503, code: "service_unavailable", has: refused},
				{path: "/risks", body: `{}`, status: 400, code: "invalid_parameter", param: "title"},
			}
			for _, w := range writes {
				d.do(t, w)
			}
			if text := d.log.String(); strings.Contains(text, "level=ERROR") {
				t.Errorf("anybody with a key can fill the log with errors:\n%s", text)
			}
			for i := range all {
				all[i].Release()
			}
			d.do(t, write{path: "/kpis/checkins", body: large, status: 400, code: "invalid_parameter", param: "checkins[0].note"})
			d.do(t, write{path: "/kpis/checkins", body: large, stream: true, status: 400, code: "invalid_parameter", param: "checkins[0].note"})
			whole, err := budget.Reserve(t.Context(), "another", size*7/8)
			if err != nil {
				t.Errorf("not all of the budget was released: %v", err)
			}
			whole.Release()
		})
	}
}
