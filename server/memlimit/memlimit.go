// Package memlimit sets the memory limit of the garbage collector from the memory
// that the process may use.
package memlimit

import (
	"bufio"
	"io/fs"
	"log/slog"
	"math"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// Set sets the limit from the control group's limit or, without one, from the
// machine's memory, but to at most ceiling bytes. A burst then costs processor time
// instead of the process. system is the root of the file system; only Linux has
// the necessary files.
func Set(system fs.FS, ceiling int64, logger *slog.Logger) {
	limit := available(system)
	if limit == 0 || limit > ceiling {
		limit = ceiling
	}
	debug.SetMemoryLimit(limit)
	logger.Info("memory limit set; GOMEMLIMIT sets another", "bytes", limit)
}

// ForCaches returns the largest limit that a service needs whose two caches of
// responses, for the API and for the dashboard, have so many bytes each. Under attack
// it uses at most 64 MB for responses, 40 MB for bodies and memory for five hashes.
// Without a limit Go lets the heap grow to twice what is in use. Beyond the limit the
// collector uses up to half of the processor time.
func ForCaches(cacheBytes int64) int64 { return 144<<20 + 2*cacheBytes }

// outsideHeap is the least memory that the process needs and Go does not count:
// SQLite's page caches, and the program itself.
const outsideHeap = 48 << 20

// available returns how much of the memory Go may use: nine tenths, or less if that
// leaves too little for the rest, but at least half. 0 means that it is not known.
func available(system fs.FS) int64 {
	total := min(controlGroupMemory(system), machineMemory(system))
	if total == math.MaxInt64 {
		return 0
	}
	return max(total/2, min(total/10*9, total-outsideHeap))
}

// controlGroupMemory returns the least limit of this process's control group and the
// groups above it, in version 2 or 1 of the interface. In a container its own group is
// the root.
func controlGroupMemory(system fs.FS) int64 {
	least := int64(math.MaxInt64)
	text, err := fs.ReadFile(system, "proc/self/cgroup")
	if err != nil {
		return least
	}
	for line := range strings.Lines(string(text)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, ok := strings.Cut(rest, ":")
		root, file := "sys/fs/cgroup", "memory.max"
		if strings.Contains(controllers, "memory") {
			root, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		if !ok || controllers != "" && file == "memory.max" {
			continue // of another controller
		}
		for group = path.Join("/", group); ; group = path.Dir(group) {
			least = min(least, number(system, path.Join(root, group, file)))
			if group == "/" {
				break
			}
		}
	}
	return least
}

// number returns the number in a file. A file that is missing or holds no number
// ("max") sets no limit.
func number(system fs.FS, name string) int64 {
	text, err := fs.ReadFile(system, name)
	if err != nil {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n <= 0 {
		return math.MaxInt64
	}
	return n
}

func machineMemory(system fs.FS) int64 {
	file, err := system.Open("proc/meminfo")
	if err != nil {
		return math.MaxInt64
	}
	defer file.Close() //nolint:errcheck // it was read
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), "MemTotal:")
		if !ok {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, " kB")), 10, 64); err == nil && n > 0 && n < math.MaxInt64>>10 {
			return n << 10
		}
	}
	return math.MaxInt64
}
