package server

import (
	"hash/maphash"
	"sync"

	"govsvc/db"
	"govsvc/server/api"
	"govsvc/server/openapi"
)

// responseCache are answers of reads, held in memory while the file stands as it was
// when they were read: most readers ask for the same pages again and again.
// Whoever commits to the file, this process or another, ends them all.
type responseCache struct {
	capacity int64 // bytes to hold

	mutex       sync.RWMutex
	dataVersion int64
	size        int64
	responses   map[cacheKey]*cachedResponse

	// asked are hashes of questions that were asked lately, each in the place
	// that it names. Who walks through a list asks nothing twice, and must not
	// drive out what others ask again and again.
	seed   maphash.Seed
	recent [1024]uint64
}

func newResponseCache(most int64) *responseCache {
	return &responseCache{capacity: most, seed: maphash.MakeSeed()}
}

// cacheKey is what an answer is the answer to.
type cacheKey struct {
	org   db.Org
	test  bool
	op    *openapi.Operation
	tool  bool   // asked by MCP, and answered in its form
	query string // or the tool's arguments
}

// cachedResponse is an answer with what is made of it once.
type cachedResponse struct {
	api.Answer
	tag    string
	zip    sync.Once
	zipped []byte
}

func newCachedResponse(answer api.Answer) *cachedResponse {
	answer = withNewline(answer)
	return &cachedResponse{Answer: answer, tag: entityTag(answer.Body)}
}

// compressed is the body in gzip.
func (a *cachedResponse) compressed() []byte {
	a.zip.Do(func() { a.zipped = compress(a.Body) })
	return a.zipped
}

// cacheable tells the operations whose answers depend on the file alone, and
// whose reading is not itself to be noted.
func cacheable(op *openapi.Operation) bool {
	return op.Method == "GET" && !op.Public && op.Feature != "audit"
}

// Get returns the answer to a question, if it was given in this generation.
func (k *responseCache) Get(generation int64, q cacheKey) *cachedResponse {
	k.mutex.RLock()
	defer k.mutex.RUnlock()
	if generation == 0 || generation != k.dataVersion { // 0: not known
		return nil
	}
	return k.responses[q]
}

// Put holds an answer that was read after the generation was asked for, if the
// question was asked before. When there is no more room, all go: the busiest are
// back at once.
func (k *responseCache) Put(generation int64, q cacheKey, a *cachedResponse) {
	cost := 2*int64(len(a.Body)) + int64(len(q.query)) + 256 // twice: it may be compressed, too
	hash := maphash.Comparable(k.seed, q)
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if generation == 0 || generation < k.dataVersion || cost > k.capacity {
		return
	}
	if place := &k.recent[hash%uint64(len(k.recent))]; *place != hash {
		*place = hash
		return
	}
	if generation > k.dataVersion || k.size+cost > k.capacity || k.responses == nil {
		k.dataVersion, k.size, k.responses = generation, 0, map[cacheKey]*cachedResponse{}
	}
	if k.responses[q] == nil {
		k.size += cost
	}
	k.responses[q] = a
}
