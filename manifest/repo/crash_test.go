package repo

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"varve/fixtures/soak"
	"varve/manifest/internal/home"
)

// crashFolder is an environment variable. If it is set, the test binary is a writer in that folder:
// see TestCrashWriter.
const crashFolder = "VARVE_TEST_CRASH_FOLDER"

// TestCrashWriter publishes one snapshot after another until it is killed, and prints the number of
// each. TestKilled runs it in a separate process.
func TestCrashWriter(t *testing.T) {
	dir := os.Getenv(crashFolder)
	if dir == "" {
		t.Skip("run by TestKilled")
	}
	if err := crashWriter(t, dir); err != nil {
		fmt.Println("failed:", err)
	}
}

func crashWriter(t *testing.T, dir string) error {
	r, err := Create(t.Context(), dir, &CreateOptions{Replace: true})
	if err != nil {
		return err
	}
	n, err := published(t, r)
	if err != nil {
		return err
	}
	fmt.Println("at", n)
	for {
		n++
		if _, err := publishTexts(t.Context(), r, crashTexts(n)...); err != nil {
			return err
		}
		fmt.Println("at", n)
		if n%3 == 0 {
			if _, err := r.GC(t.Context(), &GCOptions{Keep: 2}); err != nil && !errors.Is(err, ErrBusy) { // a writer that was killed may still count as active
				return err
			}
		}
	}
}

func crashTexts(n int) []string {
	return []string{"always", fmt.Sprint(n), fmt.Sprint(n, strings.Repeat(" and more", n%1000))}
}

// published returns the number of the current snapshot, and checks that its tables contain the same
// number.
func published(t *testing.T, r *Repository) (int, error) {
	id, err := r.Current(t.Context())
	if id == "" || err != nil {
		return 0, err
	}
	snap, err := r.Load(t.Context(), id)
	if err != nil {
		return 0, err
	}
	if err := r.Check(t.Context(), snap); err != nil {
		return 0, err
	}
	f, err := r.OpenTable(t.Context(), snap.Tables[1])
	if err != nil {
		return 0, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || snap.Message != strings.Join(crashTexts(n), ",") {
		return 0, fmt.Errorf("snapshot %q has a table %q: %w", snap.Message, text, err)
	}
	return n, nil
}

// TestKilled kills writers at random moments. It checks that afterwards all snapshots that they reported
// exist, and at most one more, that every snapshot is complete, and that the next writer can continue.
func TestKilled(t *testing.T) { everywhere(t, testKilled) }

func testKilled(t *testing.T, h *homes) {
	kills := 20
	if soak.Duration(t, 0) > 0 {
		kills = 200
	}
	seed := soak.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := h.name(t)
	last, idle := 0, 0
	// The life of a writer is adapted to the speed of the machine: it should publish about two
	// snapshots, so that some writers are killed before the first and some after several.
	life := 12 * time.Millisecond
	for range kills {
		said := killWriter(t, dir, time.Duration(random.Int64N(int64(life))))
		h.pass(home.Life / 2)
		r, err := Create(t.Context(), dir, &CreateOptions{Replace: true})
		if err != nil {
			t.Fatal(err)
		}
		now, err := published(t, r)
		if err := errors.Join(err, r.Close()); err != nil {
			t.Fatal(err)
		}
		if now < said || now > said+1 || said < last {
			t.Fatalf("current snapshot is %d; it was %d before, and the killed writer reported %d", now, last, said)
		}
		switch {
		case now == last:
			idle++
			life = min(life*5/4, longestLife)
		case now > last+2:
			life = life * 4 / 5
		}
		last = now
	}
	t.Logf("%d kills, %d snapshots, %d writers that published none; they live up to %v", kills, last, idle, life)
	if idle == kills || idle == 0 && kills > 20 {
		t.Error("the kills did not reach all stages of a writer's work")
	}
}

const longestLife = 5 * time.Second

// killWriter starts a writer, kills it some time after it is ready, and returns the last number that
// it reported.
func killWriter(t *testing.T, dir string, after time.Duration) (said int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashWriter$")
	cmd.Env = append(os.Environ(), crashFolder+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	ready := false
	for lines.Scan() {
		n, isNumber := strings.CutPrefix(lines.Text(), "at ")
		if !isNumber {
			t.Errorf("the writer printed %q", lines.Text())
			continue
		}
		if said, err = strconv.Atoi(n); err != nil {
			t.Error(err)
		}
		if !ready {
			ready = true
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
	}
	if err := cmd.Wait(); err == nil || !ready {
		t.Errorf("the writer was not killed: ready %v, %v", ready, err)
	}
	return said
}
