package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	_ "modernc.org/sqlite" // the same driver as the service's
)

const newRisk = `{"title":"Drift","description":"The scoring model drifts from its population.","severity":"HIGH","likelihood":"LIKELY"}`

var requests atomic.Int64 // numbers the Idempotency-Keys of all connections

// post returns a write with a new Idempotency-Key each time.
func post(path, key, body string) request {
	return func(int, int) []byte {
		return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nIdempotency-Key: load-%d\r\nContent-Length: %d\r\n\r\n%s",
			path, key, requests.Add(1), len(body), body)
	}
}

// commonSync is added to a sync to simulate a common disk.
const commonSync = 2 * time.Millisecond

// writes compares durable writes with a handler that writes the same rows to the
// same tables in one transaction behind a mutex. A write is a risk, its audit event,
// its outbox row and its idempotent response. It measures on this disk and with
// longer syncs.
func writes(ctx context.Context, out io.Writer, b *bench) error {
	commit, err := syncedCommit(ctx, filepath.Join(b.folder, "commit.db"))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "## Durable writes: a risk with its audit event, outbox row and idempotent response\n\nThe service is compared with a handler that writes the same rows in one transaction behind a\nmutex.\n\n")
	for _, delay := range []time.Duration{0, commonSync} {
		b.syncDelay = delay
		if _, err := exec.LookPath("strace"); err != nil && delay > 0 {
			fmt.Fprintf(out, "With %s added to each sync: not measured, because strace is missing.\n\n", delay)
			break
		}
		fmt.Fprintf(out, "One synced commit of one row: %s", commit.Round(time.Microsecond))
		if delay > 0 {
			fmt.Fprintf(out, ", and %s that are added to each sync on both sides", delay)
		}
		fmt.Fprint(out, ".\n\n")
		if err := b.compareWithMutex(ctx, out, commit+delay); err != nil {
			return err
		}
	}
	b.syncDelay = 0
	return b.withServer(ctx, b.sizes[0], "read:all,write:risks", func(server *process, key string) error {
		return b.readsDuringWrites(ctx, out, server, key)
	})
}

func (b *bench) compareWithMutex(ctx context.Context, out io.Writer, commit time.Duration) error {
	return b.withServer(ctx, b.sizes[0], "read:all,write:risks", func(server *process, key string) error {
		copied := filepath.Join(b.folder, fmt.Sprintf("mutex-%s.db", b.syncDelay))
		if _, err := b.govsvc(ctx, "import", "--db", copied, b.records(b.sizes[0])); err != nil {
			return err
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		other, err := b.launch(ctx, self, "mutex", copied)
		if err != nil {
			return err
		}
		defer other.stop() //nolint:errcheck // its file is temporary
		fmt.Fprintln(out, "| connections | govsvc/s | p50 | p99 | p99 in commits | mutex/s | ratio |\n|---|---|---|---|---|---|---|")
		next := post(page, key, newRisk)
		for _, connections := range []int{1, 16, 64} {
			ours, theirs, err := b.pair(ctx, connections, side{server.address, next}, side{other.address, next})
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "| %d | %.0f | %s | %s | %.0f | %.0f | %.2f |\n", connections, ours.rate, rounded(ours.p50), rounded(ours.p99),
				float64(ours.p99)/float64(commit), theirs.rate, ours.rate/theirs.rate)
		}
		return server.reportResident(out)
	})
}

// readsDuringWrites requests a page on 4 connections, alone and while others write
// 200 risks a second.
func (b *bench) readsDuringWrites(ctx context.Context, out io.Writer, server *process, key string) error {
	var alone, during []result
	for range b.rounds {
		r, err := load(ctx, server.address, 4, b.period, get(page, key))
		if err != nil {
			return err
		}
		alone = append(alone, r)
		var group sync.WaitGroup
		var failed error
		next := post(page, key, newRisk)
		group.Go(func() {
			_, failed = load(ctx, server.address, 4, b.period, func(c, n int) []byte {
				time.Sleep(20 * time.Millisecond)
				return next(c, n)
			})
		})
		if r, err = load(ctx, server.address, 4, b.period, get(page, key)); err != nil {
			return err
		}
		if group.Wait(); failed != nil {
			return failed
		}
		during = append(during, r)
	}
	one, two := median(alone), median(during)
	_, err := fmt.Fprintf(out, "Readers of the first page on 4 connections: %.0f/s alone, %.0f/s (%.2f) while 200 risks a second are written. Each write invalidates the page.\n\n",
		one.rate, two.rate, two.rate/one.rate)
	return err
}

// syncedCommit returns the median time of a transaction of one row, including the
// sync.
func syncedCommit(ctx context.Context, path string) (time.Duration, error) {
	file, err := openSynced(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if _, err := file.ExecContext(ctx, "CREATE TABLE t (a TEXT)"); err != nil {
		return 0, err
	}
	insert, err := file.PrepareContext(ctx, "INSERT INTO t VALUES (?)")
	if err != nil {
		return 0, err
	}
	defer insert.Close()
	text, took := strings.Repeat("x", 400), make([]time.Duration, 1000)
	for i := range took {
		begun := time.Now()
		if _, err := insert.ExecContext(ctx, text); err != nil {
			return 0, err
		}
		took[i] = time.Since(begun)
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

func openSynced(path string) (*sql.DB, error) {
	file, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate")
	if err == nil {
		file.SetMaxOpenConns(1)
	}
	return file, err
}

// rowsOfAWrite are the rows that the service writes for a new risk.
var rowsOfAWrite = []string{
	`INSERT INTO risks (org_id, id, risk_id, title, dimension, description, severity, likelihood, status, source, untreated_baseline, created_at, updated_at)
		VALUES (1, ?1, ?1, 'Drift', 'OTHER', 'The scoring model drifts from its population.', 'HIGH', 'LIKELY', 'Open', 'user_added', 'HIGH', ?2, ?2)`,
	`INSERT INTO audit_events (org_id, event, hash) VALUES (1, json_object('object', 'audit_event', 'id', ?1, 'time', ?2, 'actor', 'key', 'action', 'api.write.risk',
		'category', 'data_change', 'resource_type', 'risk', 'resource_id', ?1, 'severity', 3, 'metadata', json_object('changes', json_object('title', 'Drift'))), randomblob(32))`,
	`INSERT INTO events (org_id, id, type, body, created_at) VALUES (1, ?1, 'risk.created', hex(randomblob(250)), ?2)`,
	`INSERT INTO idempotency_records (org_id, key, request, status, answer, created_at) VALUES (1, ?1, randomblob(32), 201, randomblob(500), ?2)`,
}

// serveMutex serves writes in the simplest way: a mutex and a transaction.
func serveMutex(path string) error {
	file, err := openSynced(path)
	if err != nil {
		return err
	}
	var statements []*sql.Stmt
	for _, row := range rowsOfAWrite {
		statement, err := file.Prepare(row)
		if err != nil {
			return err
		}
		statements = append(statements, statement)
	}
	var mutex sync.Mutex
	write := func(ctx context.Context, id string) error {
		mutex.Lock()
		defer mutex.Unlock()
		tx, err := file.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // has no effect after a commit
		now := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
		for _, statement := range statements {
			if _, err := tx.StmtContext(ctx, statement).ExecContext(ctx, id, now); err != nil {
				return err
			}
		}
		return tx.Commit()
	}
	router := chi.NewRouter()
	router.Post(page, func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err := write(r.Context(), r.Header.Get("Idempotency-Key")); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(body)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	return http.Serve(listener, router)
}
