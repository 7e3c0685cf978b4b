// Command litestream checks continuous replication with the real Litestream. In
// each round it replicates a data file into a folder while several connections
// write, interrupts Litestream for a while, kills the server and Litestream, and
// restores the replica. The restored file must have every write that was
// acknowledged before the last sync, and an intact audit log. The next round
// continues with the restored file.
//
//	go run ./.ci/litestream               builds both programs
//	go run ./.ci/litestream -rounds 20    runs more rounds than the gate
//	go run ./.ci/litestream -keep         keeps the folder after a failure
//
// The version of Litestream is pinned here and not in go.mod, because the program
// does not need Litestream.
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const module = "github.com/benbjohnson/litestream/cmd/litestream@v0.5.18"

func main() {
	rounds := flag.Int("rounds", 4, "number of rounds")
	keep := flag.Bool("keep", false, "keep the folder after a failure")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *rounds, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "litestream:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rounds int, keep bool) (err error) {
	folder, err := os.MkdirTemp("", "govsvc-litestream-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && keep {
			err = fmt.Errorf("%w\nthe files are in %s", err, folder)
			return
		}
		err = errors.Join(err, os.RemoveAll(folder))
	}()
	h := &harness{folder: folder, db: filepath.Join(folder, "govsvc.db")}
	if err := h.build(ctx); err != nil {
		return err
	}
	if err := h.prepare(ctx); err != nil {
		return err
	}
	for round := range rounds {
		if err := h.round(ctx, round); err != nil {
			return fmt.Errorf("round %d: %w\n--- Litestream\n%s--- govsvc\n%s", round+1, err, h.tail("litestream.log"), h.tail("govsvc.log"))
		}
	}
	fmt.Printf("%d rounds: no write that was acknowledged before a sync was lost\n", rounds)
	return nil
}

// harness has a data file, its replica and the programs.
type harness struct {
	folder, db         string
	govsvc, litestream string // the programs
	key                string
	written            []string // the titles that must exist, of all rounds
}

// build builds the programs, unless the environment names them.
func (h *harness) build(ctx context.Context) error {
	h.govsvc, h.litestream = os.Getenv("GOVSVC"), os.Getenv("LITESTREAM")
	if h.govsvc == "" {
		h.govsvc = filepath.Join(h.folder, "govsvc")
		if _, err := h.command(ctx, "go", "build", "-o", h.govsvc, "."); err != nil {
			return err
		}
	}
	if h.litestream == "" {
		h.litestream = filepath.Join(h.folder, "litestream")
		if _, err := h.command(ctx, "go", "install", module); err != nil {
			return err
		}
	}
	return nil
}

// prepare writes Litestream's configuration and mints a key.
func (h *harness) prepare(ctx context.Context) error {
	config := fmt.Sprintf(`logging:
  stderr: true
socket:
  enabled: true
  path: %s/socket
dbs:
  - path: %s
    replica:
      type: file
      path: %s/replica
      sync-interval: 100ms
`, h.folder, h.db, h.folder)
	if err := os.WriteFile(filepath.Join(h.folder, "litestream.yml"), []byte(config), 0o600); err != nil {
		return err
	}
	key, err := h.command(ctx, h.govsvc, "keys", "mint", "--name", "load", "--scope", "write:risks", "--rpm", "1000000000", "--rpd", "1000000000")
	h.key = strings.TrimSpace(string(key))
	return err
}

// round writes, syncs, writes again, kills both programs, restores and compares.
func (h *harness) round(ctx context.Context, round int) error {
	url, server, err := h.serve(ctx)
	if err != nil {
		return err
	}
	defer server.end()
	replication, err := h.replicate(ctx)
	if err != nil {
		return err
	}
	defer func() { replication.end() }()
	load := startLoad(ctx, url, h.key, fmt.Sprint("round ", round+1))
	defer load.stop()
	if err := pause(ctx, time.Second); err != nil {
		return err
	}
	if replication, err = h.interrupt(ctx, replication, load, round); err != nil {
		return err
	}
	if err := pause(ctx, time.Second); err != nil {
		return err
	}
	synced := load.acknowledged()
	if _, err := h.runLitestream(ctx, "sync", "-wait", "-socket", h.folder+"/socket", h.db); err != nil {
		return err
	}
	if err := pause(ctx, time.Duration(rand.IntN(500))*time.Millisecond); err != nil {
		return err
	}
	replication.end()
	server.end()
	all := load.stop()
	if len(synced) == 0 || len(all) == len(synced) {
		return fmt.Errorf("%d writes before the sync and %d after it: both must be more than 0 for the check to be valid", len(synced), len(all)-len(synced))
	}
	kept, err := h.restore(ctx, synced)
	if err != nil {
		return err
	}
	fmt.Printf("round %d: %d writes acknowledged, %d of them before the sync; %d of the others were restored\n",
		round+1, len(all), len(synced), kept)
	if round%2 == 0 {
		return h.replace(ctx)
	}
	return h.lose(ctx)
}

// interrupt kills Litestream, and starts it again after the write-ahead log has
// changed. The rounds differ in the log that Litestream then finds: one that
// restarted with the last change, one that restarted recently under load, or the
// log after a random time.
func (h *harness) interrupt(ctx context.Context, replication *process, load *load, round int) (*process, error) {
	if err := h.waitForCopy(ctx); err != nil {
		return nil, err
	}
	log, err := h.log()
	if err != nil {
		return nil, err
	}
	switch round % 3 {
	case 0:
		// Litestream is stopped before it is killed, so that the log grows and it
		// copies nothing of that. Right after a copy it may still lock the file.
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
		if err := replication.Process.Signal(syscall.SIGSTOP); err != nil {
			return nil, err
		}
		err = pause(ctx, 500*time.Millisecond)
		load.pause()
		defer load.resume()
		replication.end()
		if err == nil {
			err = h.waitForRestart(log, func() error { return load.writeOne(ctx) })
		}
	case 1:
		replication.end()
		err = h.waitForRestart(log, func() error { return pause(ctx, time.Millisecond) })
	case 2:
		replication.end()
		err = pause(ctx, time.Duration(rand.IntN(1500))*time.Millisecond)
	}
	if err != nil {
		return nil, err
	}
	return h.replicate(ctx)
}

// waitForCopy waits until Litestream has copied more than 1 MB of the current log.
// After a restart, a short new log does not overwrite the end of what was copied.
// Only then can Litestream fail to detect the restart.
func (h *harness) waitForCopy(ctx context.Context) error {
	for range 300 {
		files, err := filepath.Glob(filepath.Join(h.folder, ".govsvc.db-litestream/ltx/0/*.ltx"))
		if err != nil || len(files) == 0 {
			return errors.Join(err, errors.New("nothing copied by Litestream"))
		}
		head := make([]byte, 64) // ends with the offset of the copy in the log and its length
		if file, err := os.Open(files[len(files)-1]); err == nil {
			_, err = io.ReadFull(file, head)
			if err = errors.Join(err, file.Close()); err != nil {
				return err
			}
		}
		if binary.BigEndian.Uint64(head[48:])+binary.BigEndian.Uint64(head[56:]) > 1<<20 {
			return nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return errors.New("less than 1 MB of the log copied by Litestream within 30 seconds")
}

// waitForRestart calls step until the log differs from former.
func (h *harness) waitForRestart(former string, step func() error) error {
	for range 60_000 {
		if log, err := h.log(); err != nil || log != former {
			return err
		}
		if err := step(); err != nil {
			return err
		}
	}
	return errors.New("the log does not restart")
}

// log returns the salt of the write-ahead log, which changes with each restart of
// the log. It is empty if the log is.
func (h *harness) log() (string, error) {
	file, err := os.Open(h.db + "-wal")
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // it was read
	head := make([]byte, 32)
	if _, err := io.ReadFull(file, head); err != nil {
		return "", nil //nolint:nilerr // the log is empty
	}
	return string(head[16:24]), nil
}

// restore restores the replica with Litestream and checks that it has every
// written title. It returns how many titles it has in addition.
func (h *harness) restore(ctx context.Context, synced []string) (more int, err error) {
	restored := h.restored()
	if _, err := h.runLitestream(ctx, "restore", "-o", restored, h.db); err != nil {
		return 0, err
	}
	if _, err := h.command(ctx, h.govsvc, "check", "--full", "--db", restored); err != nil {
		return 0, err
	}
	if _, err := h.command(ctx, h.govsvc, "restore", "--rehearse", restored); err != nil {
		return 0, err
	}
	export, err := h.command(ctx, h.govsvc, "export", "--type", "risk", "--db", restored)
	if err != nil {
		return 0, err
	}
	held := map[string]bool{}
	for line := range strings.Lines(string(export)) {
		var risk struct{ Title string }
		if err := json.Unmarshal([]byte(line), &risk); err != nil {
			return 0, err
		}
		held[risk.Title] = true
	}
	h.written = append(h.written, synced...)
	for _, title := range h.written {
		if !held[title] {
			return 0, fmt.Errorf("%q was acknowledged before a sync and is missing", title)
		}
	}
	more = len(held) - len(h.written)
	h.written = h.written[:0]
	for title := range held {
		h.written = append(h.written, title)
	}
	return more, nil
}

// replace restores the file in place of the previous data file and resets
// Litestream.
func (h *harness) replace(ctx context.Context) error {
	if _, err := h.command(ctx, h.govsvc, "restore", "--force", h.restored()); err != nil {
		return err
	}
	if _, err := h.runLitestream(ctx, "reset", h.db); err != nil {
		return err
	}
	return os.Remove(h.restored())
}

// lose removes the data file and the files next to it, as a broken disk does, and
// continues with the restored file.
func (h *harness) lose(ctx context.Context) error {
	for _, name := range []string{"govsvc.db", "govsvc.db-wal", "govsvc.db-shm", ".govsvc.db-litestream"} {
		if err := os.RemoveAll(filepath.Join(h.folder, name)); err != nil {
			return err
		}
	}
	if _, err := h.command(ctx, h.govsvc, "restore", h.restored()); err != nil {
		return err
	}
	return os.Remove(h.restored())
}

func (h *harness) restored() string { return filepath.Join(h.folder, "restored.db") }

// runLitestream runs a command of Litestream and waits for it.
func (h *harness) runLitestream(ctx context.Context, name string, args ...string) ([]byte, error) {
	if name != "sync" { // sync asks the running process
		args = append([]string{"-config", h.folder + "/litestream.yml"}, args...)
	}
	return h.command(ctx, h.litestream, append([]string{name}, args...)...)
}

// command runs a program, waits for it and returns its output.
func (h *harness) command(ctx context.Context, program string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, program, args...)
	run.Env = append(os.Environ(), "GOVSVC_DB="+h.db, "GOBIN="+h.folder, "CGO_ENABLED=0")
	var stderr strings.Builder
	run.Stderr = &stderr
	out, err := run.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s%s", filepath.Base(program), strings.Join(args, " "), err, out, stderr.String())
	}
	return out, nil
}

// tail returns the end of a log file.
func (h *harness) tail(name string) string {
	file, err := os.Open(filepath.Join(h.folder, name))
	if err != nil {
		return err.Error() + "\n"
	}
	defer file.Close() //nolint:errcheck // it was read
	if info, err := file.Stat(); err == nil && info.Size() > 8<<10 {
		_, _ = file.Seek(-8<<10, io.SeekEnd)
	}
	text, _ := io.ReadAll(file)
	return string(text)
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
