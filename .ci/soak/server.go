package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// harness has a server with its data file, its receiver and its load.
type harness struct {
	folder, binary, db string
	server             *exec.Cmd
	log                *os.File
	api, metrics       string // their addresses
	key                string
	client             *http.Client
	receiver           *httptest.Server
	delivered          atomic.Int64
	risks              []string // ids to change
	numbers            atomic.Int64
}

// initialRisks is the number of risks at the start.
const initialRisks = 5000

func prepare(ctx context.Context, folder, binary string) (*harness, error) {
	h := &harness{folder: folder, binary: binary, db: filepath.Join(folder, "govsvc.db")}
	h.client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 2 * connections}}
	if h.binary == "" {
		h.binary = filepath.Join(folder, "govsvc")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", h.binary, ".")
		build.Env, build.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
		if err := build.Run(); err != nil {
			return nil, err
		}
	}
	var records strings.Builder
	for i := range initialRisks {
		fmt.Fprintf(&records, `{"object":"risk","risk_id":"SOAK-%05d","title":"Drift of model %d","dimension":"MODEL","description":"The scoring model drifts, and the owner is not informed.","severity":%q,"likelihood":"POSSIBLE","status":"Open"}`+"\n",
			i, i, []string{"CRITICAL", "HIGH", "MEDIUM", "LOW"}[i%4])
	}
	for i := range 10 {
		fmt.Fprintf(&records, `{"object":"kpi","code":"SOAK-%d","statement":"Models are monitored","metric_name":"share","unit":"%%","direction":"increase","target_value":100,"measurement_frequency":"weekly","status":"active"}`+"\n", i)
	}
	if _, err := h.command(ctx, records.String(), "import", "--format", "ndjson", "-"); err != nil {
		return nil, err
	}
	out, err := h.command(ctx, "", "keys", "mint", "--json", "--name", "soak", "--rpm", "100000000", "--rpd", "2000000000",
		"--scope", "read:all,read:audit,write:risks,write:kpis,manage:webhooks")
	if err != nil {
		return nil, err
	}
	var minted struct{ Key string }
	if err := json.Unmarshal(out, &minted); err != nil {
		return nil, err
	}
	h.key = minted.Key
	h.receiver = httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		h.delivered.Add(1)
	}))
	if err := h.serve(ctx); err != nil {
		return nil, errors.Join(err, h.end())
	}
	return h, h.subscribe(ctx)
}

// command runs a command of the program in a separate process.
func (h *harness) command(ctx context.Context, in string, args ...string) ([]byte, error) {
	var errs bytes.Buffer
	c := exec.CommandContext(ctx, h.binary, args...)
	c.Env, c.Stdin, c.Stderr = append(os.Environ(), "GOVSVC_DB="+h.db), strings.NewReader(in), &errs
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("govsvc %s: %w: %s%s", strings.Join(args, " "), err, out, errs.String())
	}
	return out, nil
}

// serve starts the server with metrics and waits until it listens.
func (h *harness) serve(ctx context.Context) error {
	authority := filepath.Join(h.folder, "receiver.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.receiver.Certificate().Raw})
	if err := os.WriteFile(authority, text, 0o600); err != nil {
		return err
	}
	path := filepath.Join(h.folder, "log")
	var err error
	if h.log, err = os.Create(path); err != nil {
		return err
	}
	h.server = exec.CommandContext(ctx, h.binary, "serve", "--addr", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0",
		"--log-format", "json", "--webhook-allow", "127.0.0.0/8", "--webhook-ca", authority, "--webhook-rate", "0")
	h.server.Env, h.server.Stderr = append(os.Environ(), "GOVSVC_DB="+h.db), h.log
	h.server.Cancel = func() error { return h.server.Process.Signal(syscall.SIGTERM) }
	h.server.WaitDelay = 30 * time.Second
	out, err := h.server.StdoutPipe()
	if err == nil {
		err = h.server.Start()
	}
	if err != nil {
		return err
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	logged, _ := os.ReadFile(path)
	if !ok {
		return fmt.Errorf("the server printed %q, %w: %s", line, err, logged)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	_, rest, ok := strings.Cut(string(logged), `"msg":"serving metrics","address":"`)
	if !ok {
		return fmt.Errorf("the log has no address of metrics: %s", logged)
	}
	h.metrics, _, _ = strings.Cut(rest, `"`)
	h.api = address + "/api/v1"
	return nil
}

// subscribe subscribes the receiver and reads the ids of some risks.
func (h *harness) subscribe(ctx context.Context) error {
	if _, err := h.do(ctx, call{"POST", "/webhooks/subscriptions", `{"url":"` + h.receiver.URL + `","event_types":["risk.created"]}`}); err != nil {
		return err
	}
	text, err := h.do(ctx, call{"GET", "/risks?limit=100", ""})
	if err != nil {
		return err
	}
	var page struct{ Data []struct{ ID string } }
	if err := json.Unmarshal(text, &page); err != nil {
		return err
	}
	for _, one := range page.Data {
		h.risks = append(h.risks, one.ID)
	}
	return nil
}

// end stops the server, the receiver and the log.
func (h *harness) end() error {
	var err error
	if h.server != nil && h.server.Process != nil && h.server.ProcessState == nil {
		_ = h.server.Process.Signal(syscall.SIGTERM)
		err = h.server.Wait()
	}
	if h.receiver != nil {
		h.receiver.Close()
	}
	if h.log != nil {
		err = errors.Join(err, h.log.Close())
	}
	return err
}

// checkResult waits for the last deliveries, ends the server and checks its file.
func (h *harness) checkResult(ctx context.Context) error {
	for range 300 { // the last deliveries
		v, err := h.values(ctx)
		if err != nil {
			return err
		}
		if v[`govsvc_webhook_queue{state="due"}`]+v[`govsvc_webhook_queue{state="later"}`] == 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	out, err := h.command(ctx, "", "webhooks", "list", "--json")
	if err != nil {
		return err
	}
	var list []struct {
		Queued      int
		DeadLetters int `json:"dead_letters"`
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return err
	}
	for _, one := range list {
		if one.Queued+one.DeadLetters > 0 {
			return fmt.Errorf("%d deliveries are queued at the end, %d are dead", one.Queued, one.DeadLetters)
		}
	}
	if err := h.end(); err != nil {
		return fmt.Errorf("the server did not end with status 0: %w", err)
	}
	checked, err := h.command(ctx, "", "check", "--full")
	if err != nil {
		return err
	}
	fmt.Printf("\n%d webhooks arrived. `govsvc check --full` at the end:\n\n```\n%s```\n", h.delivered.Load(), checked)
	return nil
}
