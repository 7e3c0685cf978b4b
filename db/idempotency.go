package db

import (
	"bytes"
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"time"
)

// AnswerKept is how long an idempotent answer is replayed (specification,
// Limits).
const AnswerKept = 24 * time.Hour

// IdempotencyKey names a logical request of an organisation.
type IdempotencyKey struct {
	Org     Org // the key holder's, in the live file
	Key     string
	Request [sha256.Size]byte // identity of method, path and body
	// Now is when the request came. A frozen file's own clock may stand still.
	Now time.Time
}

// KeptAnswer is the answer that a request got when it was done.
type KeptAnswer struct {
	Status int
	Body   []byte
}

// KeptAnswer finds the answer that was given under a key; nil if there is none.
// A key that was used for another request is KeyReused.
func (d *DB) KeptAnswer(ctx context.Context, k IdempotencyKey) (*KeptAnswer, error) {
	if d.engine.Frozen() {
		return d.memory.find(k)
	}
	var request []byte
	var answer KeptAnswer
	err := d.Row(ctx, "SELECT request, status, answer FROM idempotency_records WHERE org_id = ? AND key = ? AND created_at > ?",
		k.Org, k.Key, Timestamp(d.Now().Add(-AnswerKept))).Scan(&request, &answer.Status, &answer.Body)
	if none, err := absent(err); none || err != nil {
		return nil, storeError(err)
	}
	if !bytes.Equal(request, k.Request[:]) {
		return nil, errKeyReused
	}
	return &answer, nil
}

var errKeyReused = &Error{
	Code: KeyReused, Param: "Idempotency-Key",
	Message: "this Idempotency-Key was used for another request; use a new one for a new request",
}

// KeepAnswer stores a change's answer with the change.
func (tx *Tx) KeepAnswer(k IdempotencyKey, answer KeptAnswer) error {
	if tx.db.engine.Frozen() {
		tx.db.memory.keep(k, answer)
		return nil
	}
	before := tx.Changed()
	defer func() { tx.exempt += tx.Changed() - before }() // an answer alone is not a change to be audited
	kept, err := tx.Exec(`INSERT INTO idempotency_records (org_id, key, request, status, answer, created_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (org_id, key) DO UPDATE
		SET request = ?3, status = ?4, answer = ?5, created_at = ?6 WHERE created_at <= ?7`,
		k.Org, k.Key, k.Request[:], answer.Status, answer.Body, tx.At(), Timestamp(tx.now.Add(-AnswerKept)))
	if err == nil && kept == 0 { // another process was given the same request
		return &Error{Code: InFlight, Param: "Idempotency-Key", Message: "this request was made twice at once; repeat it for the answer of the other"}
	}
	return err
}

// sweepAtOnce bounds how many answers one transaction of a sweep removes, so
// that it holds up no writer for long.
const sweepAtOnce = 1000

// SweepAnswers removes the answers that are no longer replayed.
func (d *DB) SweepAnswers(ctx context.Context) error {
	for {
		var removed int64
		err := d.Maintain(ctx, func(tx *Tx) error {
			var err error
			removed, err = tx.Exec(`DELETE FROM idempotency_records WHERE (org_id, key) IN
				(SELECT org_id, key FROM idempotency_records WHERE created_at <= ? LIMIT ? + 0)`,
				Timestamp(tx.now.Add(-AnswerKept)), sweepAtOnce)
			return err
		})
		if err != nil || removed < sweepAtOnce {
			return err
		}
	}
}

// answers are the kept answers of a frozen file, which takes no rows.
type answers struct {
	mutex sync.Mutex
	kept  map[answerKey]answer
	order []answerKey // as they were kept, oldest first
	bytes int
}

type answerKey struct {
	org Org
	key string
}

type answer struct {
	KeptAnswer
	request [sha256.Size]byte
	at      time.Time
}

// What bounds the answers of a frozen file; the oldest give way.
const (
	maxAnswers     = 10_000
	maxAnswerBytes = 32 << 20
)

func (a *answers) find(k IdempotencyKey) (*KeptAnswer, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	known, ok := a.kept[answerKey{k.Org, k.Key}]
	switch {
	case !ok || k.Now.Sub(known.at) >= AnswerKept:
		return nil, nil //nolint:nilnil // no answer is no error
	case known.request != k.Request:
		return nil, errKeyReused
	}
	return &known.KeptAnswer, nil
}

func (a *answers) keep(k IdempotencyKey, kept KeptAnswer) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.kept == nil {
		a.kept = map[answerKey]answer{}
	}
	key := answerKey{k.Org, k.Key}
	a.forget(key)
	a.kept[key] = answer{kept, k.Request, k.Now}
	a.order = append(a.order, key)
	a.bytes += len(kept.Body)
	for len(a.order) > maxAnswers || a.bytes > maxAnswerBytes {
		a.forget(a.order[0])
	}
}

// forget removes an answer, if there is one.
func (a *answers) forget(key answerKey) {
	known, ok := a.kept[key]
	if !ok {
		return
	}
	delete(a.kept, key)
	a.bytes -= len(known.Body)
	at := slices.Index(a.order, key) // the oldest, nearly always
	a.order = slices.Delete(a.order, at, at+1)
}
