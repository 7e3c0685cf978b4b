package limit

import "sync"

// InProgress bounds how many requests of one subject are in progress at once. It
// is safe for concurrent use.
type InProgress struct {
	most  int
	mutex sync.Mutex
	count map[string]int
}

// NewInProgress returns an InProgress of at most so many requests a subject.
func NewInProgress(most int) *InProgress { return &InProgress{most: most, count: map[string]int{}} }

// Begin counts a request of the subject in; false if there are too many already.
func (p *InProgress) Begin(subject string) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.count[subject] >= p.most {
		return false
	}
	p.count[subject]++
	return true
}

// End counts a request out that Begin has counted in.
func (p *InProgress) End(subject string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.count[subject]--; p.count[subject] == 0 {
		delete(p.count, subject)
	}
}
