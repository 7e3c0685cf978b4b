package memlimit

import (
	"testing"
	"testing/fstest"
)

// TestAvailable checks the limit that different systems lead to.
func TestAvailable(t *testing.T) {
	t.Parallel()
	const meminfo = "MemTotal:       24602348 kB\nMemFree:        1 kB\n"
	for _, row := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"nothing is known", nil, 0},
		{"a machine", map[string]string{"proc/meminfo": meminfo}, 24602348 << 10 / 10 * 9},
		{"no limit in the group", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/x\n", "sys/fs/cgroup/x/memory.max": "max\n",
		}, 24602348 << 10 / 10 * 9},
		{"a service", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/system.slice/govsvc.service\n",
			"sys/fs/cgroup/system.slice/govsvc.service/memory.max": "1000000000\n",
		}, 900000000},
		{"a limit above", map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "1000000000\n", "sys/fs/cgroup/a/b/memory.max": "2000000000\n",
		}, 900000000},
		{"a container", map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912",
		}, 536870912 / 10 * 9},
		{"a small container", map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "134217728",
		}, 134217728 - 48<<20},
		{"a tiny container", map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "67108864",
		}, 33554432},
		{"version 1", map[string]string{
			"proc/self/cgroup": "5:cpu,cpuacct:/c\n4:memory:/docker/x\n0::/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "1000000000\n",
		}, 900000000},
		{"version 1 without a limit", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 24602348 << 10 / 10 * 9},
		{"nonsense", map[string]string{
			"proc/meminfo": "MemTotal: lots\n", "proc/self/cgroup": "::::\nx\n0\n\n", "sys/fs/cgroup/memory.max": "-1",
		}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			system := fstest.MapFS{}
			for name, text := range row.files {
				system[name] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := available(system); got != row.want {
				t.Errorf("got %d, want %d", got, row.want)
			}
		})
	}
}
