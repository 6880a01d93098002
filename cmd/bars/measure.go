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
	peer float64 // 0: the bar stands by itself
	who  string
	bar  float64 // least ours, or least ours/peer where there is a peer
	most bool    // the bar is the most, not the least
}

// reached reports whether a row is at its bar.
func (r row) reached() bool {
	value := r.ours
	if r.peer != 0 {
		value /= r.peer
	}
	if r.most {
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
	if !r.reached() {
		verdict = "BELOW"
	}
	return fmt.Sprintf("%-28s %10.4g %-9s %-42s %-20s %s", r.name, r.ours, r.unit, peer, bar, verdict)
}

// measure prints the table and returns an error when a row is below its bar.
func measure(out io.Writer, python string) error {
	var rows []row
	if !libdeflate {
		rows = gridRows()
	}
	if python == "" {
		fmt.Fprintln(out, "skipped: the rows with a peer, for want of Python")
	} else {
		with, err := codecRows(python)
		if err != nil {
			return err
		}
		rows = append(rows, with...)
	}
	fmt.Fprintf(out, "%-28s %10s %-9s %-42s %-20s\n", "row", "varve", "", "peer", "bar")
	below := 0
	for _, r := range rows {
		fmt.Fprintln(out, r)
		if !r.reached() {
			below++
		}
	}
	if below > 0 {
		return fmt.Errorf("%d of %d rows are below their bar", below, len(rows))
	}
	return nil
}

// codecRows decodes by turns with the peer and with varve.
func codecRows(python string) ([]row, error) {
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
		r, err := compare(job, peer)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", job.name, err), peer.stop())
		}
		rows = append(rows, r)
		if job.whole {
			allocs = max(allocs, allocations(job)/job.chunks)
		}
	}
	rows = append(rows, row{name: "allocations a chunk, warm", ours: allocs, bar: 0.1, most: true})
	return rows, peer.stop()
}

// allocations returns how many one pass makes.
func allocations(job job) float64 {
	return testing.AllocsPerRun(3, func() {
		if err := job.pass(); err != nil {
			panic(err) // it has run before
		}
	})
}

// rounds is how often both sides run. The best round of each counts: whatever else the
// machine does only makes a round slower.
const rounds = 15

func compare(job job, peer *peer) (row, error) {
	var ours, theirs []float64
	for range rounds {
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

// perSecond runs a benchmark and returns how many things it did in a second.
func perSecond(each int, f func(b *testing.B)) float64 {
	var speeds []float64
	for range 5 {
		r := testing.Benchmark(f)
		speeds = append(speeds, float64(each)*float64(r.N)/r.T.Seconds())
	}
	return slices.Max(speeds)
}
