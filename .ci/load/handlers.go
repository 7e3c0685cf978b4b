//go:build linux

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	_ "modernc.org/sqlite" // the same driver as the service's
)

// serveBare serves a page in the simplest way: the bytes of a file.
func serveBare(path string) error {
	body, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	router := chi.NewRouter()
	router.Get(page, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	return http.Serve(listener, router)
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
