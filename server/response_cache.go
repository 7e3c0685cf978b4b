package server

import (
	"hash/maphash"
	"sync"

	"govsvc/db"
	"govsvc/server/api"
	"govsvc/server/openapi"
)

// responseCache holds responses to reads: many clients read the same pages
// repeatedly. A response is valid until a commit changes what it was read from. A
// commit of another process makes all of them invalid.
type responseCache struct {
	capacity int64 // in bytes

	mutex     sync.RWMutex
	size      int64
	responses map[cacheKey]cacheEntry

	// recent are hashes of keys that were put lately, each at the index that the
	// hash selects. A response is only cached when its key comes again: a client
	// that pages through a list must not displace what others read repeatedly.
	seed   maphash.Seed
	recent [1024]uint64
}

func newResponseCache(capacity int64) *responseCache {
	return &responseCache{capacity: capacity, seed: maphash.MakeSeed(), responses: map[cacheKey]cacheEntry{}}
}

// cacheEntry is a cached response with what its read depended on.
type cacheEntry struct {
	response *cachedResponse
	reads    *db.Reads
	cost     int64 // in bytes
}

// cacheKey identifies a read.
type cacheKey struct {
	org   db.Org
	test  bool
	op    *openapi.Operation
	tool  bool   // a call of MCP, whose response is the tool's result
	query string // or the tool's arguments
}

// cachedResponse is a response with its entity tag and its compressed form,
// which are computed once.
type cachedResponse struct {
	api.Response
	tag    string
	zip    sync.Once
	zipped []byte
}

func newCachedResponse(answer api.Response) *cachedResponse {
	answer = withNewline(answer)
	return &cachedResponse{Response: answer, tag: entityTag(answer.Body)}
}

// compressed returns the body in gzip.
func (r *cachedResponse) compressed() []byte {
	r.zip.Do(func() { r.zipped = compress(r.Body) })
	return r.zipped
}

// cacheable reports whether the response depends on the file alone, and the read
// itself is not audited.
func cacheable(op *openapi.Operation) bool {
	return op.Method == "GET" && !op.Public && op.Feature != "audit"
}

// Get returns the response to a read at that data version, or nil if it is not cached,
// or if the version is 0, which is unknown.
func (c *responseCache) Get(dataVersion int64, key cacheKey) *cachedResponse {
	c.mutex.RLock()
	entry := c.responses[key]
	c.mutex.RUnlock()
	if entry.response == nil || !entry.reads.Valid(dataVersion) {
		return nil
	}
	return entry.response
}

// Put caches a response if its key was put before. The data version must have
// been asked for before the read.
func (c *responseCache) Put(dataVersion int64, key cacheKey, response *cachedResponse, reads *db.Reads) {
	cost := 2*int64(len(response.Body)) + int64(len(key.query)) + 768 // twice for the compressed form
	hash := maphash.Comparable(c.seed, key)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if dataVersion == 0 || cost > c.capacity {
		return
	}
	if recent := &c.recent[hash%uint64(len(c.recent))]; *recent != hash {
		*recent = hash
		return
	}
	c.size -= c.responses[key].cost
	delete(c.responses, key)
	if c.size+cost > c.capacity {
		c.makeRoom(dataVersion)
	}
	c.size += cost
	c.responses[key] = cacheEntry{response, reads, cost}
}

// makeRoom drops the responses that are not valid. If the others take more than half
// of the capacity, it drops all: the busiest ones return at once.
func (c *responseCache) makeRoom(dataVersion int64) {
	for key, entry := range c.responses {
		if !entry.reads.Valid(dataVersion) {
			c.size -= entry.cost
			delete(c.responses, key)
		}
	}
	if c.size > c.capacity/2 {
		c.size = 0
		clear(c.responses)
	}
}
