package admin

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/db/backup"
	"govsvc/db/check"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// checkTimeout bounds a check of the data file.
const checkTimeout = 30 * time.Minute

// Checks runs the checks of the data file that `govsvc check` runs, one run at a time.
// They run in the background and read through the few connections for long reads, so
// that they delay no writer and no page. The last result is kept in memory.
type Checks struct {
	mutex  sync.Mutex
	last   *checkRun
	cancel context.CancelFunc // ends the run in progress; nil before the first run
	done   sync.WaitGroup
}

// checkRun is a run of the checks.
type checkRun struct {
	Org     db.Org // of the user, when the run started
	By      string // name of the user
	At      string
	Full    bool
	Count   int // checks of the run
	Lines   []check.Result
	Running bool
	Error   string // why the run ended early; "" if it did not
}

// checkData is the part of the page "Status" about checks.
type checkData struct {
	Run  *checkRun // nil before the first run
	Form *ui.Form  // nil while a run is in progress
}

// Next returns the number of the check that runs.
func (r *checkRun) Next() int { return len(r.Lines) + 1 }

// Failed counts the checks that failed.
func (r *checkRun) Failed() (n int) {
	for _, line := range r.Lines {
		if !line.OK {
			n++
		}
	}
	return n
}

// Marks of the results on the page.
var checkMarks = map[string]string{check.StatusOK: "ok", check.StatusWarning: "warning", check.StatusFailed: "failed"}

// Table returns the results so far.
func (r *checkRun) Table() ui.Table {
	table := ui.Table{Caption: "Results of the check", Columns: []ui.Column{{Label: "Check"}, {Label: "Result", Kind: ui.Badge}, {Label: "Detail", Kind: ui.Long}}}
	for _, line := range r.Lines {
		table.Rows = append(table.Rows, ui.Row{Cells: []any{ui.Capitalize(line.Name), checkMarks[line.Status], ui.Sentence(line.Detail)}})
	}
	return table
}

// state returns a copy of the last run, and the form that starts another one. Users of an
// organisation see no names of another one.
func (c *Checks) state(org db.Org) checkData {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	data := checkData{}
	if c.last != nil {
		run := *c.last
		if run.Org != org {
			run.By = "a user of another organisation"
		}
		data.Run = &run
	}
	if c.last == nil || !c.last.Running {
		data.Form = &ui.Form{Action: "/status/check", Submit: "Check data file", Fields: []*ui.Field{{
			Name: "full", Label: "Full check", Type: "switch", Hint: "Also compares each index with its table. It takes about three times as long.",
		}}}
	}
	return data
}

// begin records the start of a run, and returns nil if one is in progress.
func (c *Checks) begin(run checkRun) *checkRun {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.last != nil && c.last.Running {
		return nil
	}
	c.last = &run
	return c.last
}

// Hold makes a run without checks that lasts until the caller calls release, for tests.
func (c *Checks) Hold() (release func()) {
	run := c.begin(checkRun{Count: check.Options{}.Count(), Running: true})
	return func() {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		run.Running = false
	}
}

// Start starts a run in the background.
func (c *Checks) Start(r *page.Request) error {
	options := check.Options{Full: r.Value("full") == "true", OrgName: func(db.Organisation) string {
		return "an organisation" // the results are for users of all organisations
	}}
	run := c.begin(checkRun{Org: r.Org(), By: r.Session.User.Name, At: db.Timestamp(r.Store.Now()), Full: options.Full, Count: options.Count(), Running: true})
	if run == nil {
		return &page.Problem{Status: http.StatusConflict, Title: "A check is in progress", Advice: "Another check of the data file is in progress. Its results are on the page Status."}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), checkTimeout)
	c.mutex.Lock()
	c.cancel = cancel
	c.mutex.Unlock()
	store, actor, logger := r.Store, r.Actor(), r.Logger()
	c.done.Go(func() {
		defer cancel()
		if err := c.work(ctx, store, actor, run, options); err != nil {
			logger.Error("a check of the data file ended early", "error", err)
		}
	})
	return r.Redirect("/status#check")
}

// Wait waits for the end of the run in progress.
func (c *Checks) Wait() { c.done.Wait() }

// Close ends the run in progress. The store can be closed afterwards.
func (c *Checks) Close() {
	c.mutex.Lock()
	if c.cancel != nil {
		c.cancel()
	}
	c.mutex.Unlock()
	c.Wait()
}

// work runs the checks and records the run in the audit log.
func (c *Checks) work(ctx context.Context, store *db.DB, actor db.Actor, run *checkRun, options check.Options) error {
	hide := folders(ctx, store)
	report, err := check.Run(ctx, store, options, func(result check.Result) {
		result.Detail = hide.Replace(result.Detail)
		c.mutex.Lock()
		defer c.mutex.Unlock()
		run.Lines = append(run.Lines[:len(run.Lines):len(run.Lines)], result)
	})
	if err == nil {
		failed := []string{}
		for _, result := range report.Checks {
			if !result.OK {
				failed = append(failed, result.Name)
			}
		}
		err = store.Write(ctx, actor, func(tx *db.Tx) error {
			return tx.Audit(audit.Event{
				Action: "file.checked", Category: audit.System, Severity: audit.SeverityRead,
				Metadata: audit.Metadata{"full": options.Full, "checks": len(report.Checks), "failed": failed},
			})
		})
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	run.Running = false
	if err != nil {
		run.Error = "The check ended early. The log of the service has the reason."
	}
	return err
}

// folders returns a replacer that removes the folders of the machine from results,
// because users do not see them.
func folders(ctx context.Context, store *db.DB) *strings.Replacer {
	pairs := []string{filepath.Dir(store.File.Path()) + string(filepath.Separator), ""}
	if last, err := backup.New(store).Last(ctx); err == nil {
		for _, attempt := range []*backup.Attempt{last.Made, last.Failed} {
			if attempt != nil {
				pairs = append(pairs, filepath.Dir(attempt.Path)+string(filepath.Separator), "")
			}
		}
	}
	return strings.NewReplacer(pairs...)
}
