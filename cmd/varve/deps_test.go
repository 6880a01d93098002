package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"varve/fixtures/system"
)

// TestEveryDependencyHasAReason holds docs/dependencies.md against go.mod.
func TestEveryDependencyHasAReason(t *testing.T) {
	reasons, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	direct := dependencies(t, "../../go.mod")
	for _, path := range direct {
		if !strings.Contains(string(reasons), "| "+path+" |") {
			t.Errorf("docs/dependencies.md has no line for %s", path)
		}
	}
	if len(direct) < 5 {
		t.Errorf("go.mod has %d direct dependencies; this test reads it wrong", len(direct))
	}
}

// dependencies returns the modules that a go.mod names, except varve.
func dependencies(t *testing.T, name string) (paths []string) {
	t.Helper()
	mod, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(mod), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 2 && strings.HasPrefix(line, "\t") && strings.HasPrefix(fields[1], "v") && fields[0] != "varve" {
			paths = append(paths, fields[0])
		}
	}
	return paths
}

// TestDependenciesSetUpLittle bounds the memory that packages allocate before main. From about 3 MB on the
// collector runs, which takes longer than most commands. Goroutines of a busy machine allocate, too, so the
// smallest of several runs counts.
func TestDependenciesSetUpLittle(t *testing.T) {
	const runs = 10
	most := 1_600_000
	if system.Race {
		most = 4_000_000 // the race detector adds 0.9 to 1.4 MB, and more on a busy machine
	}
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
