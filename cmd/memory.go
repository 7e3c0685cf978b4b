package cmd

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

// limitMemory sets the garbage collector's memory limit, unless GOMEMLIMIT sets
// it. A burst then costs processor time instead of the process. The limit depends
// on the control group's limit or, without one, on the machine's memory, and is at
// most the given number of bytes. system is the root of the file system; only
// Linux has the needed files.
func (a *app) limitMemory(system fs.FS, most int64, logger *slog.Logger) {
	if given, ok := a.env("GOMEMLIMIT"); ok && given != "" {
		return
	}
	limit := memoryLimit(system)
	if limit == 0 || limit > most {
		limit = most
	}
	debug.SetMemoryLimit(limit)
	logger.Info("memory limit set; GOMEMLIMIT sets another", "bytes", limit)
}

// softMemory is the limit of the garbage collector for a service that holds so
// many bytes of answers, once for the API and once for the dashboard. Go would
// let the heap grow to twice of what is in use otherwise. What is in use under
// attack is at most 64 MB of responses, 40 MB for bodies and five hashes. Beyond
// the limit the collector works more, up to half of the processor time.
func softMemory(answers int64) int64 { return 144<<20 + 2*answers }

// outsideHeap is what the process needs at least beside the memory that Go
// counts: SQLite's page caches, and the program itself.
const outsideHeap = 48 << 20

// memoryLimit is how much Go may use of the memory there is: nine tenths, less
// where little is left then, but at least half. 0 is not known.
func memoryLimit(system fs.FS) int64 {
	there := min(controlGroupMemory(system), machineMemory(system))
	if there == math.MaxInt64 {
		return 0
	}
	return max(there/2, min(there/10*9, there-outsideHeap))
}

// controlGroupMemory is the least of the limits of this process's control group
// and those above it, in version 2 or 1 of the interface. In a container its
// own group is what stands at the root.
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

// number is what a file holds; one that is missing, or holds no number ("max"),
// sets no limit.
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
