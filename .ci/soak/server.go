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

// scene is a server with its data file, its receiver and its load.
type scene struct {
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

// risks that the file begins with.
const standing = 5000

func prepare(ctx context.Context, folder, binary string) (*scene, error) {
	s := &scene{folder: folder, binary: binary, db: filepath.Join(folder, "govsvc.db")}
	s.client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 2 * connections}}
	if s.binary == "" {
		s.binary = filepath.Join(folder, "govsvc")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", s.binary, ".")
		build.Env, build.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
		if err := build.Run(); err != nil {
			return nil, err
		}
	}
	var records strings.Builder
	for i := range standing {
		fmt.Fprintf(&records, `{"object":"risk","risk_id":"SOAK-%05d","title":"Drift of model %d","dimension":"MODEL","description":"The scoring model drifts, and nobody is told.","severity":%q,"likelihood":"POSSIBLE","status":"Open"}`+"\n",
			i, i, []string{"CRITICAL", "HIGH", "MEDIUM", "LOW"}[i%4])
	}
	for i := range 10 {
		fmt.Fprintf(&records, `{"object":"kpi","code":"SOAK-%d","statement":"Models are monitored","metric_name":"share","unit":"%%","direction":"increase","target_value":100,"measurement_frequency":"weekly","status":"active"}`+"\n", i)
	}
	if _, err := s.command(ctx, records.String(), "import", "--format", "ndjson", "-"); err != nil {
		return nil, err
	}
	out, err := s.command(ctx, "", "keys", "mint", "--json", "--name", "soak", "--rpm", "100000000", "--rpd", "2000000000",
		"--scope", "read:all,read:audit,write:risks,write:kpis,manage:webhooks")
	if err != nil {
		return nil, err
	}
	var minted struct{ Key string }
	if err := json.Unmarshal(out, &minted); err != nil {
		return nil, err
	}
	s.key = minted.Key
	s.receiver = httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		s.delivered.Add(1)
	}))
	if err := s.serve(ctx); err != nil {
		return nil, errors.Join(err, s.end())
	}
	return s, s.know(ctx)
}

// command runs a command of the program in a process of its own.
func (s *scene) command(ctx context.Context, in string, args ...string) ([]byte, error) {
	var errs bytes.Buffer
	c := exec.CommandContext(ctx, s.binary, args...)
	c.Env, c.Stdin, c.Stderr = append(os.Environ(), "GOVSVC_DB="+s.db), strings.NewReader(in), &errs
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("govsvc %s: %w: %s%s", strings.Join(args, " "), err, out, errs.String())
	}
	return out, nil
}

// serve starts the server, with metrics, and waits until it listens.
func (s *scene) serve(ctx context.Context) error {
	authority := filepath.Join(s.folder, "receiver.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.receiver.Certificate().Raw})
	if err := os.WriteFile(authority, text, 0o600); err != nil {
		return err
	}
	path := filepath.Join(s.folder, "log")
	var err error
	if s.log, err = os.Create(path); err != nil {
		return err
	}
	s.server = exec.CommandContext(ctx, s.binary, "serve", "--addr", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0",
		"--log-format", "json", "--webhook-allow", "127.0.0.0/8", "--webhook-ca", authority, "--webhook-rate", "0")
	s.server.Env, s.server.Stderr = append(os.Environ(), "GOVSVC_DB="+s.db), s.log
	s.server.Cancel = func() error { return s.server.Process.Signal(syscall.SIGTERM) }
	s.server.WaitDelay = 30 * time.Second
	out, err := s.server.StdoutPipe()
	if err == nil {
		err = s.server.Start()
	}
	if err != nil {
		return err
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	said, _ := os.ReadFile(path)
	if !ok {
		return fmt.Errorf("the server printed %q, %w: %s", line, err, said)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	_, rest, ok := strings.Cut(string(said), `"msg":"serving metrics","address":"`)
	if !ok {
		return fmt.Errorf("the log has no address of metrics: %s", said)
	}
	s.metrics, _, _ = strings.Cut(rest, `"`)
	s.api = address + "/api/v1"
	return nil
}

// know subscribes the receiver and learns the ids of some risks.
func (s *scene) know(ctx context.Context) error {
	if _, err := s.do(ctx, call{"POST", "/webhooks/subscriptions", `{"url":"` + s.receiver.URL + `","event_types":["risk.created"]}`}); err != nil {
		return err
	}
	text, err := s.do(ctx, call{"GET", "/risks?limit=100", ""})
	if err != nil {
		return err
	}
	var page struct{ Data []struct{ ID string } }
	if err := json.Unmarshal(text, &page); err != nil {
		return err
	}
	for _, one := range page.Data {
		s.risks = append(s.risks, one.ID)
	}
	return nil
}

// end stops the server, which has to go in order.
func (s *scene) end() error {
	var err error
	if s.server != nil && s.server.Process != nil && s.server.ProcessState == nil {
		_ = s.server.Process.Signal(syscall.SIGTERM)
		err = s.server.Wait()
	}
	if s.receiver != nil {
		s.receiver.Close()
	}
	if s.log != nil {
		err = errors.Join(err, s.log.Close())
	}
	return err
}

// wholesome ends the server and has the program look at what it leaves.
func (s *scene) wholesome(ctx context.Context) error {
	for range 300 { // the last deliveries
		v, err := s.values(ctx)
		if err != nil {
			return err
		}
		if v[`govsvc_webhook_queue{state="due"}`]+v[`govsvc_webhook_queue{state="later"}`] == 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	out, err := s.command(ctx, "", "webhooks", "list", "--json")
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
	if err := s.end(); err != nil {
		return fmt.Errorf("the server did not end in order: %w", err)
	}
	checked, err := s.command(ctx, "", "check", "--full")
	if err != nil {
		return err
	}
	fmt.Printf("\n%d webhooks arrived. `govsvc check --full` at the end:\n\n```\n%s```\n", s.delivered.Load(), checked)
	return nil
}
