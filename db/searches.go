package db

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"govsvc/db/sqlite"
)

// Bounds of searches.
const (
	// searchTime is how long a search may take, its waiting included.
	searchTime = 10 * time.Second
	// searchesWaiting bounds the searches of a user that wait for their turn.
	searchesWaiting = 16
)

// searches runs the reads whose time grows with the data, such as the search of
// a list. They have connections of their own, and a user runs one at a time: ten
// searches by one user delay that user alone.
type searches struct {
	mutex sync.Mutex
	users map[string]*searchQueue // of those who search now
}

// searchQueue is what one user searches for.
type searchQueue struct {
	turn  chan struct{} // held by the search that runs
	count int           // searches that run or wait
}

// search runs a read in the search pool: with the other searches of the user in
// turn, and within the bound of time. It is stopped when ctx ends. "" is no
// user and waits for connections alone.
func (d *DB) search(ctx context.Context, user string, run func(context.Context, *sqlite.Pool) error) error {
	bounded, cancel := context.WithTimeout(ctx, d.options.SearchTime)
	defer cancel()
	leave, err := d.searches.enter(bounded, user)
	if err == nil {
		defer leave()
		err = run(bounded, d.engine.Searches)
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err() // whatever the interrupted statement says
	}
	var known *Error
	if err != nil && bounded.Err() != nil && (!errors.As(err, &known) || known.Code == Unavailable) {
		return &Error{Code: SearchTimeout, Err: err, Message: fmt.Sprintf("the search was stopped after %s; "+
			"search for a longer or rarer word, set a filter, or sort by the default order", d.options.SearchTime)}
	}
	return storeError(err)
}

// enter waits for the user's turn. The caller must call leave.
func (s *searches) enter(ctx context.Context, user string) (leave func(), err error) {
	if user == "" {
		return func() {}, nil
	}
	queue, err := s.join(user)
	if err != nil {
		return nil, err
	}
	select {
	case queue.turn <- struct{}{}:
		return func() {
			<-queue.turn
			s.part(user, queue)
		}, nil
	case <-ctx.Done():
		s.part(user, queue)
		return nil, ctx.Err()
	}
}

func (s *searches) join(user string) (*searchQueue, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	queue := s.users[user]
	if queue == nil {
		if s.users == nil {
			s.users = map[string]*searchQueue{}
		}
		queue = &searchQueue{turn: make(chan struct{}, 1)}
		s.users[user] = queue
	}
	if queue.count > searchesWaiting {
		return nil, &Error{Code: SearchBusy, RetryAfter: time.Second, Message: "too many of your searches are running; wait for them to end, and search again"}
	}
	queue.count++
	return queue, nil
}

func (s *searches) part(user string, queue *searchQueue) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if queue.count--; queue.count == 0 {
		delete(s.users, user)
	}
}
