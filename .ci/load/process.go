package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-chi/chi/v5"
)

// build builds the program as in a release.
func (b *bench) build(ctx context.Context) error {
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", b.binary, ".")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	command.Stderr = os.Stderr
	return command.Run()
}

// govsvc runs a command, waits for it and returns its output.
func (b *bench) govsvc(ctx context.Context, args ...string) ([]byte, error) {
	return b.govsvcIn(ctx, "", args...)
}

// govsvcIn runs a command like govsvc, with the given standard input.
func (b *bench) govsvcIn(ctx context.Context, in string, args ...string) ([]byte, error) {
	var errors bytes.Buffer
	command := exec.CommandContext(ctx, b.binary, args...)
	command.Stdin = strings.NewReader(in)
	command.Stderr = &errors
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("govsvc %s: %w: %s", strings.Join(args, " "), err, errors.String())
	}
	return out, nil
}

// file creates a data file with n risks, a quarter of them of each severity, and
// returns its path.
func (b *bench) file(ctx context.Context, n int) (string, error) {
	path := filepath.Join(b.folder, fmt.Sprintf("%d.db", n))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := writeRisks(b.records(n), n); err != nil {
		return "", err
	}
	_, err := b.govsvc(ctx, "import", "--db", path, b.records(n))
	return path, err
}

// records returns the path of the records of the data file with n risks.
func (b *bench) records(n int) string { return filepath.Join(b.folder, fmt.Sprintf("%d.ndjson", n)) }

// forget removes the data file with n risks, so that file creates it again.
func (b *bench) forget(n int) error {
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.RemoveAll(filepath.Join(b.folder, fmt.Sprintf("%d.db%s", n, end))); err != nil {
			return err
		}
	}
	return nil
}

func writeRisks(path string, n int) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	severities := []string{"CRITICAL", "HIGH", "MEDIUM", "LOW"}
	statuses := []string{"Open", "InProgress", "Mitigated", "Accepted", "Closed"}
	for i := range n {
		fmt.Fprintf(out, `{"object":"risk","risk_id":"LOAD-%07d","title":"Drift of model %d","dimension":"MODEL",`+
			`"description":"The scoring model drifts from the population it was trained on, and the owner is not informed.",`+
			`"severity":%q,"residual_severity":null,"likelihood":"POSSIBLE","status":%q,"source":"load","owner_name":"Head of Model Risk",`+
			`"financial_exposure_min":10000,"financial_exposure_max":250000.5,"target_date":"2027-01-31"}`+"\n",
			i, i, severities[i%4], statuses[i%5])
	}
	for i := range 10 { // for check-ins
		fmt.Fprintf(out, `{"object":"kpi","code":"LOAD-%d","statement":"Models are monitored","metric_name":"share","unit":"%%","direction":"increase",`+
			`"target_value":100,"measurement_frequency":"weekly","status":"active"}`+"\n", i)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return file.Close()
}

// key mints a key with limits that no measurement reaches.
func (b *bench) key(ctx context.Context, path string, scopes string) (string, error) {
	out, err := b.govsvc(ctx, "keys", "mint", "--db", path, "--json", "--name", "load", "--scope", scopes, "--rpm", "100000000", "--rpd", "2000000000")
	if err != nil {
		return "", err
	}
	var minted struct{ Key string }
	return minted.Key, json.Unmarshal(out, &minted)
}

// process is a server under measurement.
type process struct {
	*exec.Cmd
	address string
	file    string // the data file that it serves
}

// launch starts a server and waits until it listens. It delays the syncs of the server
// by syncDelay.
func (b *bench) launch(ctx context.Context, name string, args ...string) (*process, error) {
	if b.syncDelay == 0 {
		return launch(ctx, name, args...)
	}
	// With -D the tracer is a child, and the process is the server itself.
	args = append([]string{
		"-D", "-f", "--seccomp-bpf", "-qq", "-o", os.DevNull, "-e", "trace=fsync,fdatasync",
		"-e", fmt.Sprintf("inject=fsync,fdatasync:delay_exit=%d", b.syncDelay.Microseconds()), name,
	}, args...)
	return launch(ctx, "strace", args...)
}

// launch starts a server and waits until it listens.
func launch(ctx context.Context, name string, args ...string) (*process, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 10 * time.Second
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "listening on http://"); ok {
			go func() { // a full pipe would block the server
				for lines.Scan() {
					continue
				}
			}()
			return &process{Cmd: command, address: address}, nil
		}
	}
	return nil, fmt.Errorf("%s %s did not listen: %w: %s", name, strings.Join(args, " "), command.Wait(), stderr.String())
}

func (b *bench) serve(ctx context.Context, path string, flags ...string) (*process, error) {
	server, err := b.launch(ctx, b.binary, append([]string{"serve", "--db", path, "--addr", "127.0.0.1:0", "--anonymous-rpm", "0", "--webhook-rate", "0"}, flags...)...)
	if err == nil {
		server.file = path
	}
	return server, err
}

func (p *process) stop() error {
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return p.Wait()
}

// resident returns the resident memory of the process in MB.
func (p *process) resident() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			if err == nil {
				return kb / 1024
			}
		}
	}
	return 0
}

// reportResident prints the memory of the process after a table.
func (p *process) reportResident(out io.Writer) error {
	_, err := fmt.Fprintf(out, "\nResident memory afterwards: %.0f MB.\n\n", p.resident())
	return err
}

// bare starts a chi handler that only writes the bytes of a file.
func bare(ctx context.Context, path string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return launch(ctx, self, "bare", path)
}

func serveBare(path string) error {
	body, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	router := chi.NewRouter()
	router.Get("/api/v1/risks", func(w http.ResponseWriter, _ *http.Request) {
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
