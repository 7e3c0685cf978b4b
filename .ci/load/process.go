//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
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
	var stderr bytes.Buffer
	command := exec.CommandContext(ctx, b.binary, args...)
	command.Stdin = strings.NewReader(in)
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("govsvc %s: %w: %s", strings.Join(args, " "), err, stderr.String())
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

// checkins returns the path of the records of n check-ins with their key results.
func (b *bench) checkins(n int) string {
	return filepath.Join(b.folder, fmt.Sprintf("checkins-%d.ndjson", n))
}

// copyOf returns a copy of the data file with n risks.
func (b *bench) copyOf(ctx context.Context, n int) (string, error) {
	original, err := b.file(ctx, n)
	if err != nil {
		return "", err
	}
	from, err := os.Open(original)
	if err != nil {
		return "", err
	}
	defer from.Close()
	to, err := os.CreateTemp(b.folder, "copy-*.db")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, from)
	return to.Name(), errors.Join(err, to.Close())
}

// index lets a server build the search index of the larger register, so that no server
// does it while it is measured.
func (b *bench) index(ctx context.Context) error {
	if b.indexed {
		return nil
	}
	path, err := b.file(ctx, b.sizes[1])
	if err != nil {
		return err
	}
	server, err := b.serve(ctx, path)
	if err != nil {
		return err
	}
	defer server.stop() //nolint:errcheck // it has nothing to report
	file, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		return err
	}
	defer file.Close()
	for !b.indexed {
		time.Sleep(100 * time.Millisecond)
		const query = "SELECT (SELECT max(seq) FROM risks) = (SELECT max(seq) FROM search_progress)"
		if err := file.QueryRowContext(ctx, query).Scan(&b.indexed); err != nil {
			return err
		}
	}
	return nil
}

// register starts a server of a copy of the larger register, and mints a key.
func (b *bench) register(ctx context.Context, scopes string) (*process, string, error) {
	if err := b.index(ctx); err != nil {
		return nil, "", err
	}
	path, err := b.copyOf(ctx, b.sizes[1])
	if err != nil {
		return nil, "", err
	}
	key, err := b.key(ctx, path, scopes)
	if err != nil {
		return nil, "", err
	}
	server, err := b.serve(ctx, path)
	return server, key, err
}

// handler starts one of the handlers that the service is compared with.
func (b *bench) handler(ctx context.Context, next request, name, path string) (target, error) {
	self, err := os.Executable()
	if err != nil {
		return target{}, err
	}
	server, err := b.launch(ctx, self, name, path)
	return target{server, next}, err
}

// pageBytes returns the path of a file with the bytes of the first page.
func (b *bench) pageBytes(ctx context.Context) (string, error) {
	server, key, err := b.register(ctx, "read:all")
	if err != nil {
		return "", err
	}
	defer server.stop() //nolint:errcheck // its file is temporary
	body, err := fetch(ctx, server.address, get(page, key))
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.folder, "page.json")
	return path, os.WriteFile(path, body, 0o600)
}

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
	writeKeyResults(out, 10) // for check-ins
	if err := out.Flush(); err != nil {
		return err
	}
	return file.Close()
}

func writeKeyResults(out io.Writer, n int) {
	for i := range n {
		fmt.Fprintf(out, `{"object":"kpi","code":"LOAD-%d","statement":"Models are monitored","metric_name":"share","unit":"%%","direction":"increase",`+
			`"target_value":100,"measurement_frequency":"weekly","status":"active"}`+"\n", i)
	}
}

// writeCheckins writes 100 key results and n check-ins of them.
func writeCheckins(path string, n int) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	writeKeyResults(out, 100)
	for i := range n {
		period := time.Date(1900, 1, 1+i/100, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		fmt.Fprintf(out, `{"object":"kpi_checkin","key_result_code":"LOAD-%d","period_start":%q,"value":%d.5,"source":"load"}`+"\n", i%100, period, i)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return file.Close()
}

// key mints a key with limits that no measurement reaches.
func (b *bench) key(ctx context.Context, path, scopes string, flags ...string) (string, error) {
	out, err := b.govsvc(ctx, append([]string{"keys", "mint", "--db", path, "--json", "--name", "load", "--scope", scopes, "--rpm", "100000000", "--rpd", "2000000000"}, flags...)...)
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
	key     string // that it printed
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
	lines, key := bufio.NewScanner(out), ""
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "key "); ok {
			key = text
		}
		if address, ok := strings.CutPrefix(lines.Text(), "listening on http://"); ok {
			go func() { // a full pipe would block the server
				for lines.Scan() {
					continue
				}
			}()
			return &process{Cmd: command, address: address, key: key}, nil
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

// processorTime returns the processor time that the process has used.
func (p *process) processorTime() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Process.Pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), ") ") // the name may have spaces
	fields, ticks := strings.Fields(after), 0
	for _, field := range fields[11:13] { // of the user and of the system
		n, err := strconv.Atoi(field)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * (time.Second / 100)
}

// reportResident prints the memory of the process after a table.
func (p *process) reportResident(out io.Writer) error {
	_, err := fmt.Fprintf(out, "\nResident memory afterwards: %.0f MB.\n\n", p.resident())
	return err
}
