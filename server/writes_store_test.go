package server_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/internal/testkit"
)

// serveWritesWaiting returns a service whose writes wait for at most the given time.
func serveWritesWaiting(t testing.TB, wait time.Duration) *writeService {
	t.Helper()
	path, keys := writeFile.Copy(t)
	c := testkit.NewClock(start)
	return writeServiceOf(t, serveFile(t, path, c, withStore(openWaiting(t, path, c, wait))), keys)
}

// unavailable returns a write with the expected response while the file can't be
// written.
func (w write) unavailable() write {
	w.status, w.code, w.param = 503, "service_unavailable", ""
	w.has, w.not = []string{"Retry-After: "}, []string{"SQLITE", "locked", "database is"}
	return w
}

// TestLockedFile_LongLock has another process hold the lock of the file for longer than
// a write waits. Every write is a 503 that changed nothing, and reads continue. The
// same requests with the same keys succeed after the lock is released.
func TestLockedFile_LongLock(t *testing.T) {
	t.Parallel()
	d := serveWritesWaiting(t, 50*time.Millisecond)
	risk, incident := "/risks/"+d.id(t, "/risks", goodRisk), "/incidents/"+d.id(t, "/incidents", goodIncident)
	vendor := "/vendor/inventory/" + d.id(t, "/vendor/inventory", vendorBody("v"))
	load(t, d.store, db.DefaultOrganisation, []db.Record{sample("kpi", "K", 1, start)})
	writes := []write{
		{path: "/risks", body: goodRisk, status: 201},
		{method: "PATCH", path: risk, body: `{"title":"x"}`},
		{path: "/incidents", body: goodIncident, status: 201},
		{method: "PATCH", path: incident, body: `{"status":"closed"}`},
		{path: "/vendor/inventory", body: vendorBody("w"), status: 201},
		{method: "PATCH", path: vendor, body: `{"status":"exited"}`},
		batch(`"key_result_code":"K kpi 1","value":1`),
	}
	for i := range writes {
		writes[i].idempotencyKey = fmt.Sprint("key ", i)
	}
	release := lock(t, d.path)
	d.checkUnchanged(t, func() {
		for _, w := range writes {
			d.do(t, w.unavailable())
			d.do(t, w.unavailable()) // the key is not in use
		}
		d.get(t, "/risks", d.key)
		d.get(t, "/kpis", d.key)
		d.do(t, write{path: "/risks", body: `{}`, status: 400, code: "invalid_parameter", param: "title"}) // before the write
	})
	release()
	for _, w := range writes {
		d.do(t, w)
		w.replayed = true
		d.do(t, w)
	}
	d.checkRows(t, "done once", "SELECT (SELECT count(*) FROM risks), (SELECT count(*) FROM incidents), (SELECT count(*) FROM vendors), (SELECT count(*) FROM kpi_checkins)", "2|2|2|1")
	d.verifyAudit(t, db.DefaultOrganisation)
}

// TestLockedFile_ManyWriters checks that many concurrent writes receive their response
// in about the time that a write waits. None of them changes anything.
func TestLockedFile_ManyWriters(t *testing.T) {
	t.Parallel()
	d := serveWritesWaiting(t, 100*time.Millisecond)
	release := lock(t, d.path)
	began := time.Now()
	var group sync.WaitGroup
	for range 64 {
		group.Go(func() { d.do(t, write{path: "/risks", body: goodRisk}.unavailable()) })
	}
	group.Wait()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("64 refusals took %v", took)
	}
	release()
	for range 3 {
		d.id(t, "/risks", goodRisk)
	}
	d.checkRows(t, "numbers", "SELECT group_concat(risk_id) FROM risks", "RISK-0001,RISK-0002,RISK-0003")
}

// TestLockedFile_ShortLock checks that a write succeeds if the lock is released before
// the wait ends.
func TestLockedFile_ShortLock(t *testing.T) {
	t.Parallel()
	d := serveWritesWaiting(t, 20*time.Second)
	d.get(t, "/risks", d.key)
	release := lock(t, d.path)
	time.AfterFunc(200*time.Millisecond, release)
	d.id(t, "/risks", goodRisk)
}
