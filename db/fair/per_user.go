package fair

import (
	"context"
	"sync"
)

// PerUser runs the work of each user one after the other. Users do not wait for each
// other.
type PerUser struct {
	maxWaiting int

	mutex sync.Mutex
	users map[string]*userQueue // users with work that runs or waits
}

// userQueue is the work of one user.
type userQueue struct {
	slot  chan struct{} // held by the work that runs
	count int           // work that runs or waits
}

// NewPerUser bounds how many callers wait for one user.
func NewPerUser(maxWaiting int) *PerUser {
	return &PerUser{maxWaiting: maxWaiting, users: map[string]*userQueue{}}
}

// Acquire waits for the work of the user that came before. The caller calls release.
// The user "" does not wait. Errors: ErrCrowded if too many wait, or the error of ctx.
func (p *PerUser) Acquire(ctx context.Context, user string) (release func(), err error) {
	if user == "" {
		return func() {}, nil
	}
	queue := p.enter(user)
	if queue == nil {
		return nil, ErrCrowded
	}
	select {
	case queue.slot <- struct{}{}:
		return func() {
			<-queue.slot
			p.leave(user, queue)
		}, nil
	case <-ctx.Done():
		p.leave(user, queue)
		return nil, ctx.Err()
	}
}

// enter counts a caller; nil if too many wait.
func (p *PerUser) enter(user string) *userQueue {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	queue := p.users[user]
	if queue == nil {
		queue = &userQueue{slot: make(chan struct{}, 1)}
		p.users[user] = queue
	}
	if queue.count > p.maxWaiting {
		return nil
	}
	queue.count++
	return queue
}

func (p *PerUser) leave(user string, queue *userQueue) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if queue.count--; queue.count == 0 {
		delete(p.users, user)
	}
}
