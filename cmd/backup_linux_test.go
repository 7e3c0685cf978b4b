package cmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"govsvc/internal/testkit"
)

// mountSmallDisk mounts a disk of a size. It returns "" if this machine does
// not allow that.
func mountSmallDisk(c *cli, size string) string {
	c.t.Helper()
	disk := c.t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size="+size); err != nil {
		c.t.Logf("this machine can't mount a disk: %v", err)
		return ""
	}
	c.t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	return disk
}

// TestBackup_FailsOnFullDisk checks that a backup without enough space fails, leaves
// no file, and harms neither an older backup nor the server.
func TestBackup_FailsOnFullDisk(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	disk := mountSmallDisk(c, "256k")
	if disk == "" {
		return
	}
	c.must("orgs", "create", "acme")
	must(t, os.WriteFile(filepath.Join(disk, "b.db"), []byte("an older one"), 0o600))
	if got := c.refused(1, "backup", "--force", filepath.Join(disk, "b.db")); !strings.Contains(got, "copy into the folder "+disk+": database or disk is full") {
		t.Error(got)
	}
	s := c.serve("--backup-dir", disk, "--log-format", "json")
	testkit.Eventually(t, func() bool { return strings.Contains(s.stderr.String(), `"msg":"backup failed; trying again"`) }, "the failure to be logged")
	if status, _ := c.get(s.url+"/readyz", ""); status != 200 {
		t.Errorf("ready: %d", status)
	}
	if o := c.run("check"); o.status != 1 || !strings.Contains(o.stdout, "FAIL  last backup  the last attempt, at ") || !strings.Contains(o.stdout, "database or disk is full") {
		t.Errorf("%+v", o)
	}
	s.end()
	if got := filesIn(c.t, disk); got != "b.db" || c.read(filepath.Join(disk, "b.db")) != "an older one" {
		t.Errorf("left: %s", got)
	}
}

// TestRestore_ChangesNothingOnFullDisk checks that a restore without enough space changes
// nothing.
func TestRestore_ChangesNothingOnFullDisk(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	disk := mountSmallDisk(c, "1m")
	if disk == "" {
		return
	}
	c.must("orgs", "create", "kept")
	backup := filepath.Join(c.dir, "b.db")
	c.must("backup", backup)
	c.env["GOVSVC_DB"] = filepath.Join(disk, "govsvc.db")
	c.must("restore", backup)
	c.must("orgs", "create", "later")
	if got := c.refused(1, "restore", "--force", backup); !strings.Contains(got, "database or disk is full") {
		t.Error(got)
	}
	if got := filesIn(c.t, disk); got != "govsvc.db" {
		t.Errorf("left: %s", got)
	}
	if got := c.must("orgs", "list"); !strings.Contains(got, "later") {
		t.Errorf("the data file is another one: %s", got)
	}
}

// TestRestore_RefusesDamagedFileInUse checks that even an unreadable data file is not
// replaced while a server has it open.
func TestRestore_RefusesDamagedFileInUse(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	key := c.key("write:risks")
	backup := filepath.Join(c.dir, "b.db")
	c.must("backup", backup)
	p := c.child(key, func(*exec.Cmd) {})
	p.want("before the damage", newRisk("a"), 201)
	file, err := os.OpenFile(c.env["GOVSVC_DB"], os.O_WRONLY, 0)
	must(t, err)
	_, err = file.WriteAt([]byte(strings.Repeat("damage! ", 32)), 0)
	must(t, err)
	must(t, file.Close())
	if got := c.refused(1, "restore", "--force", backup); !strings.Contains(got, "is in use by another process") {
		t.Error(got)
	}
	p.kill()
	c.must("restore", "--force", backup)
	c.must("check")
}
