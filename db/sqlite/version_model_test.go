package sqlite

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"govsvc/internal/testkit"
)

var (
	versionSteps = flag.Int("versions.steps", 150, "random steps of TestVersions")
	versionSeed  = flag.Uint64("versions.seed", 0, "seed of TestVersions; 0 is a random one")
)

// versionOptions are those of a file with tables of every kind that a footprint
// distinguishes: with an owner or without, with computed columns, changed by a trigger and
// by a foreign key.
func versionOptions(path string) Options {
	return Options{Path: path, ApplicationID: 0x74657374, OwnerColumn: "owner_id", Wait: time.Minute, Prepare: func(ctx context.Context, d *DB) error {
		var exists bool
		if err := d.Lookups.Row(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'a')").Scan(&exists); err != nil || exists {
			return err
		}
		return d.Write(ctx, func(tx *Tx) error {
			for _, statement := range []string{
				"CREATE TABLE a (seq INTEGER PRIMARY KEY, owner_id INTEGER NOT NULL, n INTEGER NOT NULL, text TEXT GENERATED ALWAYS AS ('n' || n) STORED)",
				"CREATE TABLE b (id INTEGER PRIMARY KEY, x INTEGER NOT NULL, y INTEGER NOT NULL)",
				"CREATE TABLE log (seq INTEGER PRIMARY KEY, owner_id INTEGER NOT NULL, n INTEGER NOT NULL)",
				"CREATE TABLE part (a_seq INTEGER NOT NULL REFERENCES a (seq) ON DELETE CASCADE, n INTEGER NOT NULL)",
				"CREATE TRIGGER logged AFTER UPDATE OF n ON a WHEN new.n % 3 = 0 BEGIN INSERT INTO log (owner_id, n) VALUES (new.owner_id, new.n); END",
				"CREATE VIEW sums AS SELECT owner_id, total(n) AS n FROM a GROUP BY owner_id",
				"INSERT INTO b (id, x, y) VALUES (1, 0, 0)",
			} {
				if _, err := tx.Exec(statement); err != nil {
					return err
				}
			}
			for owner := range modelOwners {
				if _, err := tx.Exec("INSERT INTO a (owner_id, n) VALUES (?, 0)", owner+1); err != nil {
					return err
				}
			}
			return nil
		})
	}}
}

const modelOwners = 3

// modelWrites are changes of a file. An owner is between 1 and modelOwners.
var modelWrites = []func(tx *Tx, owner Owner) error{
	func(tx *Tx, owner Owner) error {
		_, err := tx.Exec("UPDATE a SET n = n + 1 WHERE owner_id = ?", owner)
		return err
	},
	func(tx *Tx, owner Owner) error { // without an owner, and with a subset of them
		_, err := tx.Exec("UPDATE a SET n = n + 1 WHERE seq = (SELECT min(seq) FROM a WHERE owner_id = ?)", int64(owner))
		return err
	},
	func(tx *Tx, _ Owner) error {
		_, err := tx.Exec("UPDATE b SET x = x + 1")
		return err
	},
	func(tx *Tx, _ Owner) error {
		_, err := tx.Exec("UPDATE b SET y = y + 1")
		return err
	},
	func(tx *Tx, owner Owner) error {
		seq, err := tx.Insert("INSERT INTO a (owner_id, n) VALUES (?, 1)", owner)
		if err != nil {
			return err
		}
		_, err = tx.Insert("INSERT INTO part (a_seq, n) VALUES (?, 1)", seq)
		return err
	},
	func(tx *Tx, owner Owner) error { // removes its parts, too
		_, err := tx.Exec("DELETE FROM a WHERE seq = (SELECT max(seq) FROM a WHERE owner_id = ?1) AND seq > 9", owner)
		return err
	},
	func(tx *Tx, owner Owner) error { // moves a row to another owner
		_, err := tx.Exec("UPDATE a SET owner_id = ? WHERE seq = (SELECT max(seq) FROM a) AND seq > 9", owner)
		return err
	},
	func(tx *Tx, _ Owner) error {
		_, err := tx.Exec("DELETE FROM log")
		return err
	},
}

// modelReads are reads whose results are held.
var modelReads = []struct {
	query string
	owned bool
}{
	{"SELECT total(n) || group_concat(text) FROM a WHERE owner_id = ?", true},
	{"SELECT n || '' FROM sums WHERE owner_id = ?", true},
	{"SELECT group_concat(text) FROM a WHERE owner_id = ?", true},
	{"SELECT count(*) || '' FROM log WHERE owner_id = ?", true},
	{"SELECT max(x) || '' FROM b", false},
	{"SELECT max(y) || '' FROM b", false},
	{"SELECT count(*) || '' FROM part", false},
	{"SELECT count(*) || '' FROM (SELECT seq FROM log)", false},
	{"SELECT count(*) || '-' || max(y) FROM a, b", false},
}

// heldRead is the result of a read.
type heldRead struct {
	value string
	reads *Reads
}

// versionModel is a file with a process that reads it and holds results.
type versionModel struct {
	path   string
	d      *DB
	random *rand.Rand
	held   map[string]heldRead
	hits   int
	child  *modelChild
}

// get returns the result of a read, held if it is valid.
func (m *versionModel) get(t testing.TB, query string, args ...any) (value string, held bool) {
	t.Helper()
	version, err := m.d.DataVersion()
	if err != nil {
		t.Fatal(err)
	}
	key := fmt.Sprint(query, args)
	if known := m.held[key]; known.reads != nil && known.reads.Valid(version) {
		m.hits++
		return known.value, true
	}
	ctx, reads := m.d.Record(t.Context(), version)
	if value, err = m.read(ctx, query, args); err != nil {
		t.Fatal(err)
	}
	m.held[key] = heldRead{value, reads}
	return value, false
}

func (m *versionModel) read(ctx context.Context, query string, args []any) (value string, err error) {
	var text *string
	if err = m.d.Lookups.Row(ctx, query, args...).Scan(&text); err == nil && text != nil {
		value = *text
	}
	return value, err
}

// check compares every held result with what the file has.
func (m *versionModel) check(t testing.TB, after string) {
	t.Helper()
	for _, r := range modelReads {
		owners := []any{Owner(1), Owner(2), Owner(3)}
		if !r.owned {
			owners = owners[:1]
		}
		for _, owner := range owners {
			args := []any{owner}
			if !r.owned {
				args = nil
			}
			got, held := m.get(t, r.query, args...)
			want, err := m.read(t.Context(), r.query, args)
			if err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Fatalf("after %s: %s for %v is %q (held %v), the file has %q", after, r.query, owner, got, held, want)
			}
		}
	}
}

// step changes something, and returns what.
func (m *versionModel) step(t testing.TB) string {
	t.Helper()
	which := m.random.IntN(100)
	switch {
	case which < 50:
		return m.write(t, m.d)
	case which < 55:
		other, err := Open(t.Context(), versionOptions(m.path))
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close() //nolint:errcheck // nothing is left to write
		return "in this process, another connection's " + m.write(t, other)
	case which < 75:
		command := fmt.Sprintf("write %d %d", m.random.IntN(len(modelWrites)), 1+m.random.IntN(modelOwners))
		m.child.do(t, command)
		return "another process's " + command
	case which < 84:
		mode := []string{"PASSIVE", "FULL", "RESTART", "TRUNCATE"}[m.random.IntN(4)]
		if m.random.IntN(2) == 0 {
			m.child.do(t, "checkpoint "+mode)
			return "another process's checkpoint " + mode
		}
		if err := m.d.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		return "a checkpoint"
	case which < 96:
		m.crash(t)
		return "the end of another process"
	default:
		if err := m.d.Close(); err != nil {
			t.Fatal(err)
		}
		if m.random.IntN(2) == 0 { // the last one removes the log
			m.child.end(t)
			m.child = startModelChild(t, m.path)
		}
		m.open(t)
		return "opening the file again"
	}
}

func (m *versionModel) open(t testing.TB) {
	t.Helper()
	d, err := Open(t.Context(), versionOptions(m.path))
	if err != nil {
		t.Fatal(err)
	}
	m.d, m.held = d, map[string]heldRead{}
	mapped(t, d)
}

// write makes one to three changes in a transaction, which may be rolled back.
func (m *versionModel) write(t testing.TB, d *DB) string {
	t.Helper()
	text, refused := "writes", m.random.IntN(8) == 0
	err := d.Write(t.Context(), func(tx *Tx) error {
		for range 1 + m.random.IntN(3) {
			n, owner := m.random.IntN(len(modelWrites)), Owner(1+m.random.IntN(modelOwners))
			text += fmt.Sprintf(" %d/%d", n, owner)
			if err := modelWrites[n](tx, owner); err != nil {
				return err
			}
		}
		if refused {
			return os.ErrInvalid
		}
		return nil
	})
	if (err != nil) != refused {
		t.Fatal(err)
	}
	return text
}

// crash kills the other process while it commits. Until then every result must have what
// that process has acknowledged.
func (m *versionModel) crash(t testing.TB) {
	t.Helper()
	before, err := m.read(t.Context(), "SELECT x || '' FROM b", nil)
	if err != nil {
		t.Fatal(err)
	}
	base, acknowledged := parseNumber(t, before), atomic.Int64{}
	fmt.Fprintln(m.child.in, "storm")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for m.child.out.Scan() {
			if m.child.out.Text() == "stormed" {
				acknowledged.Add(1)
			}
		}
	}()
	for until := time.Now().Add(time.Duration(m.random.IntN(30_000)) * time.Microsecond); time.Now().Before(until); {
		least := base + acknowledged.Load()
		got, held := m.get(t, "SELECT x || '' FROM b")
		if x := parseNumber(t, got); x < least {
			t.Fatalf("%d commits are acknowledged, %d are shown (held %v)", least, x, held)
		}
		if m.random.IntN(20) == 0 {
			m.write(t, m.d) // which may add to x
		}
	}
	_ = m.child.process.Process.Kill()
	<-done
	_ = m.child.process.Wait()
	m.child = startModelChild(t, m.path)
}

func parseNumber(t testing.TB, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestVersions holds results of reads while this process and others commit, move the log,
// end within a commit and open the file again. No result may differ from the file.
func TestVersions(t *testing.T) {
	t.Parallel()
	if path := os.Getenv("GOVSVC_TEST_VERSIONS"); path != "" {
		modelChildMain(t, path)
		return
	}
	seed := *versionSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-versions.seed %d", seed)
	m := &versionModel{path: newPath(t), random: rand.New(rand.NewPCG(seed, 0))}
	m.open(t)
	m.child = startModelChild(t, m.path)
	defer func() { m.child.end(t); _ = m.d.Close() }()
	for n := range *versionSteps {
		after := fmt.Sprintf("step %d, %s", n, m.step(t))
		m.check(t, after)
		if t.Failed() {
			t.Fatal(after)
		}
	}
	t.Logf("%d steps, %d results were held", *versionSteps, m.hits)
	if m.hits < *versionSteps {
		t.Error("so few that the test shows nothing")
	}
}

// TestVersions_Locks: the locks of this process still exclude another one after a second
// connection of this process has looked at the version and was closed.
func TestVersions_Locks(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	var files [2]*DB
	for i := range files {
		var err error
		if files[i], err = Open(t.Context(), versionOptions(path)); err != nil {
			t.Fatal(err)
		}
		mapped(t, files[i])
	}
	if err := files[1].Close(); err != nil {
		t.Fatal(err)
	}
	d := files[0]
	testkit.CloseAfter(t, d.Close)
	child := startModelChild(t, path)
	defer child.end(t)
	before := versionOf(t, d)
	err := d.Write(t.Context(), func(tx *Tx) error {
		child.do(t, "excluded")
		return modelWrites[2](tx, 1)
	})
	if err != nil {
		t.Error(err)
	}
	// A process that finds no lock of another one empties the log's index.
	if after := versionOf(t, d); after != before+1 || d.versions.floor.Load() > before {
		t.Errorf("version %d became %d", before, after)
	}
	child.do(t, "write 2 1")
	if n := versionOf(t, d); n <= before+1 || d.versions.floor.Load() != n {
		t.Errorf("the commit of the other process is version %d", n)
	}
}

// modelChild is another process.
type modelChild struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

func startModelChild(t testing.TB, path string) *modelChild {
	t.Helper()
	child, in, out := testkit.StartTest(t, "TestVersions", "GOVSVC_TEST_VERSIONS="+path)
	started := &modelChild{child, in, bufio.NewScanner(out)}
	started.do(t, "hello")
	return started
}

// do sends a command, and waits until it is done.
func (c *modelChild) do(t testing.TB, command string) {
	t.Helper()
	fmt.Fprintln(c.in, command)
	if !c.out.Scan() || c.out.Text() != "done "+command {
		t.Fatalf("%s: the other process said %q", command, c.out.Text())
	}
}

func (c *modelChild) end(t testing.TB) {
	t.Helper()
	_ = c.in.Close()
	for c.out.Scan() {
	}
	if err := c.process.Wait(); err != nil {
		t.Error(err)
	}
}

// modelChildMain is the main function of the other process.
func modelChildMain(t *testing.T, path string) {
	d, err := Open(t.Context(), versionOptions(path))
	if err != nil {
		t.Fatal(err)
	}
	testkit.CloseAfter(t, d.Close)
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		command := commands.Text()
		words := strings.Fields(command)
		switch words[0] {
		case "write":
			change, owner := modelWrites[parseNumber(t, words[1])], Owner(parseNumber(t, words[2]))
			err = d.Write(t.Context(), func(tx *Tx) error { return change(tx, owner) })
		case "excluded":
			c, failed := closed(Options{Path: path, Wait: 20 * time.Millisecond}).connect(t.Context(), "rw")
			if failed != nil {
				t.Fatal(failed)
			}
			if failed = c.runOnce(t.Context(), "BEGIN IMMEDIATE"); !IsBusy(failed) {
				err = fmt.Errorf("not excluded: %w", failed)
			}
			_ = c.close()
		case "checkpoint":
			testkit.ExecSQL(t, path, "PRAGMA wal_checkpoint("+words[1]+")")
		case "storm":
			for err == nil {
				err = d.Write(t.Context(), func(tx *Tx) error { return modelWrites[2](tx, 1) })
				fmt.Println("stormed")
				time.Sleep(300 * time.Microsecond) // the lock is free, so that the other process does not starve
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("done " + command)
	}
}
