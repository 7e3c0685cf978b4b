// Command litestream checks continuous replication with the real Litestream:
// it replicates a data file into a folder while several connections write, has
// Litestream be away for a while, kills the server and Litestream, restores, and
// wants every write that was acknowledged before the last sync, with an unbroken
// audit log. Then it goes on with the restored file in the place of the lost one,
// and does it again.
//
//	go run ./.ci/litestream               builds both programs first
//	go run ./.ci/litestream -rounds 20    more than the gate takes
//	go run ./.ci/litestream -keep         leaves the folder of a failure
//
// Litestream is a tool of this check and no part of the program: it is pinned
// here, and not in go.mod.
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
	rounds := flag.Int("rounds", 4, "how often everything is killed and restored")
	keep := flag.Bool("keep", false, "leave the folder of a failure there")
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
			err = fmt.Errorf("%w\nall of it is in %s", err, folder)
			return
		}
		err = errors.Join(err, os.RemoveAll(folder))
	}()
	s := &scene{folder: folder, db: filepath.Join(folder, "govsvc.db")}
	if err := s.build(ctx); err != nil {
		return err
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	for round := range rounds {
		if err := s.round(ctx, round); err != nil {
			return fmt.Errorf("round %d: %w\n--- Litestream\n%s--- govsvc\n%s", round+1, err, s.tail("litestream.log"), s.tail("govsvc.log"))
		}
	}
	fmt.Printf("%d rounds: nothing acknowledged before a sync was lost\n", rounds)
	return nil
}

// scene is a data file, its replica and the programs.
type scene struct {
	folder, db         string
	govsvc, litestream string // the programs
	key                string
	written            []string // the titles that must be there, of all rounds
}

// build makes the programs, unless the environment names them.
func (s *scene) build(ctx context.Context) error {
	s.govsvc, s.litestream = os.Getenv("GOVSVC"), os.Getenv("LITESTREAM")
	if s.govsvc == "" {
		s.govsvc = filepath.Join(s.folder, "govsvc")
		if _, err := s.command(ctx, "go", "build", "-o", s.govsvc, "."); err != nil {
			return err
		}
	}
	if s.litestream == "" {
		s.litestream = filepath.Join(s.folder, "litestream")
		if _, err := s.command(ctx, "go", "install", module); err != nil {
			return err
		}
	}
	return nil
}

// prepare writes Litestream's configuration and mints a key.
func (s *scene) prepare(ctx context.Context) error {
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
`, s.folder, s.db, s.folder)
	if err := os.WriteFile(filepath.Join(s.folder, "litestream.yml"), []byte(config), 0o600); err != nil {
		return err
	}
	key, err := s.command(ctx, s.govsvc, "keys", "mint", "--name", "load", "--scope", "write:risks", "--rpm", "1000000000", "--rpd", "1000000000")
	s.key = strings.TrimSpace(string(key))
	return err
}

// round writes, syncs, writes on, kills, restores and compares.
func (s *scene) round(ctx context.Context, round int) error {
	url, server, err := s.serve(ctx)
	if err != nil {
		return err
	}
	defer server.end()
	replication, err := s.replicate(ctx)
	if err != nil {
		return err
	}
	defer func() { replication.end() }()
	load := startLoad(ctx, url, s.key, fmt.Sprint("round ", round+1))
	defer load.stop()
	if err := pause(ctx, time.Second); err != nil {
		return err
	}
	if replication, err = s.absence(ctx, replication, load, round); err != nil {
		return err
	}
	if err := pause(ctx, time.Second); err != nil {
		return err
	}
	synced := load.acknowledged()
	if _, err := s.litestreamed(ctx, "sync", "-wait", "-socket", s.folder+"/socket", s.db); err != nil {
		return err
	}
	if err := pause(ctx, time.Duration(rand.IntN(500))*time.Millisecond); err != nil {
		return err
	}
	replication.end()
	server.end()
	all := load.stop()
	if len(synced) == 0 || len(all) == len(synced) {
		return fmt.Errorf("%d writes before the sync and %d after it: the check shows nothing", len(synced), len(all)-len(synced))
	}
	kept, err := s.restore(ctx, synced)
	if err != nil {
		return err
	}
	fmt.Printf("round %d: %d writes acknowledged, %d of them before the sync; %d of the others came back\n",
		round+1, len(all), len(synced), kept)
	if round%2 == 0 {
		return s.replace(ctx)
	}
	return s.lose(ctx)
}

// absence has Litestream alone be killed, and come back to a log that went on.
// What counts is the log that it finds: one that has begun anew with the last
// change, or lately and many write, or whatever stands there after a while.
func (s *scene) absence(ctx context.Context, replication *process, load *load, round int) (*process, error) {
	if err := s.copied(ctx); err != nil {
		return nil, err
	}
	log, err := s.log()
	if err != nil {
		return nil, err
	}
	switch round % 3 {
	case 0:
		// Until it is killed, it has the log grow, and copies nothing of that. Not
		// right after a copy: it may hold the file for itself then.
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
			err = s.turned(log, func() error { return load.one(ctx) })
		}
	case 1:
		replication.end()
		err = s.turned(log, func() error { return pause(ctx, time.Millisecond) })
	case 2:
		replication.end()
		err = pause(ctx, time.Duration(rand.IntN(1500))*time.Millisecond)
	}
	if err != nil {
		return nil, err
	}
	return s.replicate(ctx)
}

// copied waits until Litestream has copied much of the log as it stands: only
// beyond a short new one can the last that it has copied still be there.
func (s *scene) copied(ctx context.Context) error {
	for range 300 {
		files, err := filepath.Glob(filepath.Join(s.folder, ".govsvc.db-litestream/ltx/0/*.ltx"))
		if err != nil || len(files) == 0 {
			return errors.Join(err, errors.New("no copies of Litestream's"))
		}
		head := make([]byte, 64) // ends with where in the log a copy begins, and its length
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
	return errors.New("what Litestream has copied of the log stays short")
}

// turned has the log begin anew.
func (s *scene) turned(former string, meanwhile func() error) error {
	for range 60_000 {
		if log, err := s.log(); err != nil || log != former {
			return err
		}
		if err := meanwhile(); err != nil {
			return err
		}
	}
	return errors.New("the log does not begin anew")
}

// log is what tells the log beside the data file from the one before; "" if it
// is empty.
func (s *scene) log() (string, error) {
	file, err := os.Open(s.db + "-wal")
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // it was read
	head := make([]byte, 32)
	if _, err := io.ReadFull(file, head); err != nil {
		return "", nil //nolint:nilerr // there is nothing to read
	}
	return string(head[16:24]), nil
}

// restore has Litestream restore the replica, and compares what comes out with
// what must be there and with the file that was killed.
func (s *scene) restore(ctx context.Context, synced []string) (more int, err error) {
	restored := s.restored()
	if _, err := s.litestreamed(ctx, "restore", "-o", restored, s.db); err != nil {
		return 0, err
	}
	if _, err := s.command(ctx, s.govsvc, "check", "--full", "--db", restored); err != nil {
		return 0, err
	}
	if _, err := s.command(ctx, s.govsvc, "restore", "--rehearse", restored); err != nil {
		return 0, err
	}
	export, err := s.command(ctx, s.govsvc, "export", "--type", "risk", "--db", restored)
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
	s.written = append(s.written, synced...)
	for _, title := range s.written {
		if !held[title] {
			return 0, fmt.Errorf("%q was acknowledged before a sync, and is lost", title)
		}
	}
	more = len(held) - len(s.written)
	s.written = s.written[:0]
	for title := range held {
		s.written = append(s.written, title)
	}
	return more, nil
}

// replace puts the restored file in the place of the one that was killed, and has
// Litestream forget what it knew of that.
func (s *scene) replace(ctx context.Context) error {
	if _, err := s.command(ctx, s.govsvc, "restore", "--force", s.restored()); err != nil {
		return err
	}
	if _, err := s.litestreamed(ctx, "reset", s.db); err != nil {
		return err
	}
	return os.Remove(s.restored())
}

// lose removes the data file with all that stands beside it, as a broken disk
// does, and goes on with the restored one.
func (s *scene) lose(ctx context.Context) error {
	for _, name := range []string{"govsvc.db", "govsvc.db-wal", "govsvc.db-shm", ".govsvc.db-litestream"} {
		if err := os.RemoveAll(filepath.Join(s.folder, name)); err != nil {
			return err
		}
	}
	if _, err := s.command(ctx, s.govsvc, "restore", s.restored()); err != nil {
		return err
	}
	return os.Remove(s.restored())
}

func (s *scene) restored() string { return filepath.Join(s.folder, "restored.db") }

// litestreamed runs a command of Litestream's to its end.
func (s *scene) litestreamed(ctx context.Context, name string, args ...string) ([]byte, error) {
	if name != "sync" { // which asks the one that runs
		args = append([]string{"-config", s.folder + "/litestream.yml"}, args...)
	}
	return s.command(ctx, s.litestream, append([]string{name}, args...)...)
}

// command runs a program to its end and returns what it printed.
func (s *scene) command(ctx context.Context, program string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, program, args...)
	run.Env = append(os.Environ(), "GOVSVC_DB="+s.db, "GOBIN="+s.folder, "CGO_ENABLED=0")
	var complaints strings.Builder
	run.Stderr = &complaints
	out, err := run.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s%s", filepath.Base(program), strings.Join(args, " "), err, out, complaints.String())
	}
	return out, nil
}

// tail is the end of a log.
func (s *scene) tail(name string) string {
	file, err := os.Open(filepath.Join(s.folder, name))
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

// pause lets time pass.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
