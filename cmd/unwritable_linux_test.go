package cmd_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"govsvc/internal/testkit"
)

// These tests need a process: a full disk, a limit on the size of files, and a
// file that its user may only read. In each case a write gets 503 and changes
// nothing, and reads continue. When the cause is gone, the same request with
// the same key succeeds.

// refuses checks that the server reads and refuses to write.
func (p *child) refuses(about string) {
	p.t.Helper()
	for range 3 {
		p.want(about, newRisk("refused"), 503)
	}
	p.want(about+", a read", crashWrite{method: "GET", path: "/risks"}, 200)
	p.want(about+", an audited read", crashWrite{method: "GET", path: "/audit"}, 503)
	p.want(about+", a bad request", crashWrite{method: "POST", path: "/risks", idempotencyKey: "x", body: `{}`}, 400)
	if status, _ := p.get(strings.TrimSuffix(p.api, "/api/v1")+"/readyz", ""); status != 503 {
		p.t.Errorf("%s: ready: %d", about, status)
	}
}

// recovers checks that the refused writes now succeed, once, and that nothing
// else was written.
func (p *child) recovers(about string, before ...string) {
	p.t.Helper()
	p.want(about+", afterwards", newRisk("refused"), 201)
	p.want(about+", again", newRisk("refused"), 201)
	p.checkTables()
	var titles []string
	for line := range strings.Lines(p.must("export", "--type", "risk")) {
		_, title, _ := strings.Cut(line, `"title":"`)
		title, _, _ = strings.Cut(title, `"`)
		titles = append(titles, title)
	}
	if got, want := strings.Join(titles, " "), strings.Join(append(before, "refused"), " "); got != want {
		p.t.Errorf("%s: stored %s, want %s", about, got, want)
	}
	p.must("audit", "verify")
	_ = p.Process.Signal(syscall.SIGTERM)
	if err := p.Wait(); err != nil {
		p.t.Errorf("%s: %v", about, err)
	}
}

const unwritableScopes = "write:risks,read:risks,read:audit"

// TestServe_RecoversFromFileSizeLimit limits the size of the files that the process may
// write. Writes fail as on a full disk.
func TestServe_RecoversFromFileSizeLimit(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	p := c.child(c.key(unwritableScopes), func(*exec.Cmd) {})
	p.want("before", newRisk("before"), 201)
	limitFiles(t, p.Process.Pid, 4096)
	p.refuses("limited")
	limitFiles(t, p.Process.Pid, 1<<40)
	p.recovers("limited", "before")
}

// limitFiles limits the size of the files that a process may write.
func limitFiles(t *testing.T, pid int, size uint64) {
	t.Helper()
	limit := syscall.Rlimit{Cur: size, Max: ^uint64(0)}
	if _, _, problem := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_FSIZE, uintptr(unsafe.Pointer(&limit)), 0, 0, 0); problem != 0 {
		t.Fatal(problem)
	}
}

// TestServe_RecoversFromFullDisk fills a small disk. On a machine without permission to
// mount one, TestServe_RecoversFromFileSizeLimit covers the same.
func TestServe_RecoversFromFullDisk(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	disk := mountSmallDisk(c, "8m")
	if disk == "" {
		return
	}
	path := filepath.Join(disk, "govsvc.db")
	testkit.WriteFile(t, path, c.read(c.env["GOVSVC_DB"]))
	c.env["GOVSVC_DB"] = path
	p := c.child(c.key(unwritableScopes), func(*exec.Cmd) {})
	p.want("before", newRisk("before"), 201)
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 8<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	before := []string{"before"}
	for i := 0; ; i++ { // fills the rest of the log's last block
		once := fmt.Sprint("last-", i)
		if status, _, _ := p.send(http.DefaultClient, newRisk(once)); status != 201 {
			break
		}
		before = append(before, once)
	}
	p.refuses("full")
	must(t, os.Remove(filler))
	p.recovers("full", before...)
}

// TestErrors_ExplainUnreadableFile runs commands on a file of another user. They say
// what is wrong and what to do, and leave nothing beside the file.
func TestErrors_ExplainUnreadableFile(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	path := c.env["GOVSVC_DB"]
	bin, err := program()
	must(t, err)
	user := &syscall.SysProcAttr{}
	if os.Geteuid() == 0 {
		user.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
		for _, folder := range []string{builds, filepath.Dir(c.dir)} {
			must(t, os.Chmod(folder, 0o755))
		}
	}
	must(t, os.Chmod(c.dir, 0o555)) //nolint:gosec // so that others may look in
	t.Cleanup(func() { _ = os.Chmod(c.dir, 0o700) })
	for mode, cause := range map[os.FileMode]string{0o444: "attempt to write a readonly database", 0o000: "permission denied"} {
		must(t, os.Chmod(path, mode))
		for _, command := range []string{"keys list", "keys mint --name x --scope read:all", "export", "check", "audit verify", "deliver --once", "serve --addr 127.0.0.1:0"} {
			p := exec.CommandContext(t.Context(), bin, strings.Fields(command)...)
			p.Env, p.SysProcAttr = append(os.Environ(), "GOVSVC_DB="+path), user
			said, err := p.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("%s of a file of mode %v: %v: %s", command, mode, err, said)
			}
			line := string(said)
			if !strings.HasPrefix(line, "govsvc: "+path+": this user is not allowed to use it: ") || !strings.Contains(line, cause) ||
				!strings.HasSuffix(line, "; run as the owner of the file, or let this user write the file and its folder\n") || strings.Count(line, "\n") != 1 {
				t.Errorf("%s of a file of mode %v: %s", command, mode, line)
			}
		}
	}
	if left, err := os.ReadDir(c.dir); err != nil || len(left) != 1 {
		t.Errorf("beside the file: %v %v", left, err)
	}
}

// TestServe_RecoversFromReadOnlyFile starts on a file that the server's user may only read.
// If root runs the test, the server runs as another user.
func TestServe_RecoversFromReadOnlyFile(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	path, user := c.env["GOVSVC_DB"], func(*exec.Cmd) {}
	key := c.key(unwritableScopes)
	if os.Geteuid() == 0 {
		const nobody = 65534
		user = func(p *exec.Cmd) {
			p.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
		for _, folder := range []string{builds, filepath.Dir(c.dir), c.dir} {
			must(t, os.Chmod(folder, 0o755))
		}
		must(t, os.Chown(c.dir, nobody, nobody))
		must(t, os.Chown(path, nobody, nobody))
	}
	must(t, os.Chmod(path, 0o400))
	p := c.child(key, user)
	p.refuses("read-only")
	must(t, os.Chmod(path, 0o600))
	p.want("writable again, once more", newRisk("first"), 201)
	p.recovers("read-only", "first")
}
