package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"time"
)

// row is one line of the table.
type row struct {
	name string
	ours float64
	unit string
	peer float64 // the peer's value, or 0 if there is no peer
	who  string  // name and version of the peer's decoder
	bar  float64 // limit of ours, or of ours/peer if there is a peer

	isMaximum bool // bar is an upper limit, not a lower one
}

// isReached reports whether the row satisfies its bar.
func (r row) isReached() bool {
	value := r.ours
	if r.peer != 0 {
		value /= r.peer
	}
	if r.isMaximum {
		return value <= r.bar
	}
	return value >= r.bar
}

func (r row) String() string {
	bar, peer := fmt.Sprintf("%g", r.bar), "-"
	if r.peer != 0 {
		bar = fmt.Sprintf("%.2fx, want %.1fx", r.ours/r.peer, r.bar)
		peer = fmt.Sprintf("%.0f %s", r.peer, r.who)
	}
	verdict := "ok"
	if !r.isReached() {
		verdict = "BELOW"
	}
	return fmt.Sprintf("%-28s %10.4g %-9s %-42s %-20s %s", r.name, r.ours, r.unit, peer, bar, verdict)
}

// measure prints the table of all rows and returns an error if a row misses its bar. Without
// python, the path of an interpreter, it leaves out the rows that have a peer. Rows with a peer run for a number of passes.
func measure(out io.Writer, python string, passes int) error {
	var rows []row
	if !libdeflate {
		rows = gridRows()
	}
	if python == "" {
		fmt.Fprintln(out, "skipped: the rows with a peer, because VARVE_PYTHON is not set")
	} else {
		with, err := codecRows(python, passes)
		if err != nil {
			return err
		}
		rows = append(rows, with...)
	}
	fmt.Fprintf(out, "%-28s %10s %-9s %-42s %-20s\n", "row", "varve", "", "peer", "bar")
	below := 0
	for _, r := range rows {
		fmt.Fprintln(out, r)
		if !r.isReached() {
			below++
		}
	}
	if below > 0 && passes >= judged {
		return fmt.Errorf("%d of %d rows miss their bar (the rows marked BELOW)", below, len(rows))
	}
	return nil
}

// codecRows measures decoding by varve and by the peer, in turns.
func codecRows(python string, passes int) ([]row, error) {
	folder, err := os.MkdirTemp("", "varve-bars-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	peer, err := startPeer(python, folder)
	if err != nil {
		return nil, err
	}
	ours, err := codecJobs(folder)
	if err != nil {
		return nil, errors.Join(err, peer.stop())
	}
	var rows []row
	allocs := 0.0
	for _, job := range ours {
		r, err := compare(job, peer, passes)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", job.name, err), peer.stop())
		}
		rows = append(rows, r)
		if job.isWhole {
			allocs = max(allocs, allocations(job)/job.chunks)
		}
	}
	rows = append(rows, row{name: "allocations a chunk, warm", ours: allocs, bar: 0.1, isMaximum: true})
	return rows, peer.stop()
}

// allocations returns the number of allocations of one pass.
func allocations(job job) float64 {
	return testing.AllocsPerRun(3, func() {
		if err := job.pass(); err != nil {
			panic(err) // compare has run the same pass without an error
		}
	})
}

// judged is the number of passes of varve and of the peer for which bars are judged. The fastest pass of each counts,
// because other load on the machine can only make a pass slower.
const judged = 15

// compare runs the job and the peer's job in turns and returns the row with both speeds.
func compare(job job, peer *peer, passes int) (row, error) {
	var ours, theirs []float64
	for range passes {
		start := time.Now()
		if err := job.pass(); err != nil {
			return row{}, err
		}
		ours = append(ours, time.Since(start).Seconds())
		if job.peer == "" {
			continue
		}
		seconds, err := peer.pass(job.peer)
		if err != nil {
			return row{}, err
		}
		theirs = append(theirs, seconds)
	}
	r := row{name: job.name, ours: job.amount / slices.Min(ours), unit: job.unit, who: peer.who[job.peer], bar: job.bar}
	if len(theirs) > 0 {
		r.peer = job.amount / slices.Min(theirs)
	}
	return r, nil
}

// perSecond runs the benchmark f, whose iterations process each items, and returns the best
// number of items per second.
func perSecond(each int, f func(b *testing.B)) float64 {
	var speeds []float64
	for range 5 {
		r := testing.Benchmark(f)
		speeds = append(speeds, float64(each)*float64(r.N)/r.T.Seconds())
	}
	return slices.Max(speeds)
}
