package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestEveryDependencyHasAReason holds docs/dependencies.md against go.mod.
func TestEveryDependencyHasAReason(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	reasons, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	direct := 0
	for _, line := range strings.Split(string(mod), "\n") {
		fields := strings.Fields(line)
		if len(fields) != 2 || !strings.HasPrefix(line, "\t") || !strings.HasPrefix(fields[1], "v") {
			continue
		}
		direct++
		if !strings.Contains(string(reasons), "| "+fields[0]+" |") {
			t.Errorf("docs/dependencies.md has no line for %s", fields[0])
		}
	}
	if direct < 5 {
		t.Errorf("go.mod has %d direct dependencies; this test reads it wrong", direct)
	}
}

// TestDependenciesSetUpLittle bounds what packages allocate before main: by about 3 MB the
// collector runs, which takes longer than most commands. On a busy machine, what goroutines
// allocate meanwhile counts as well: the least of some runs is what packages do.
func TestDependenciesSetUpLittle(t *testing.T) {
	const most, runs = 2_300_000, 10 // 0.9 MB of that is for the race detector
	total, worst := setUp(t)
	for n := 1; n < runs && total > most; n++ {
		total, worst = setUp(t)
	}
	if total > most {
		t.Errorf("%d bytes are allocated before main, more than %d, most of them by%s", total, most, worst)
	}
}

// setUp starts a process and returns what its packages allocated before main, and which of them
// most.
func setUp(t *testing.T) (total int, worst string) {
	t.Helper()
	self := exec.Command(os.Args[0], "-test.run=^$")
	self.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := self.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	packages := regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) bytes`).FindAllStringSubmatch(string(out), -1)
	if len(packages) < 20 {
		t.Fatalf("%d packages were set up; this test reads the trace wrong:\n%s", len(packages), out)
	}
	for _, p := range packages {
		n, err := strconv.Atoi(p[2])
		if err != nil {
			t.Fatal(err)
		}
		if total += n; n > 100_000 {
			worst += "\n" + p[0]
		}
	}
	return total, worst
}
