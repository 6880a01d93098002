package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"varve/manifest/report"
)

// progress reports the progress of a command: as a bar on a terminal, else as a line every ten
// seconds, or not at all if quiet is set. Several goroutines may use it.
type progress struct {
	mu      sync.Mutex
	out     io.Writer
	bar     *progressbar.ProgressBar // nil without a terminal
	quiet   bool
	unit    string
	begun   time.Time // of the first phase
	some    bool      // an item is done
	started time.Time
	said    time.Time
	events  bool   // a line for programs, several times a second
	doing   string // what an event calls it
}

// eventsVariable has progress written for a program: "progress scanning files 12 340" a line.
const eventsVariable = "VARVE_PROGRESS"

const (
	sayEvery   = 10 * time.Second
	eventEvery = 100 * time.Millisecond
)

// newProgress reports scanned files.
func newProgress(out io.Writer, quiet bool) *progress {
	return newProgressOf(out, quiet, "scanning", "files")
}

func newProgressOf(out io.Writer, quiet bool, doing, unit string) *progress {
	now := time.Now()
	p := &progress{out: out, quiet: quiet, unit: unit, begun: now, started: now, said: now, doing: doing, events: !quiet && os.Getenv(eventsVariable) == "events"}
	if file, ok := terminalOf(out); ok && !quiet {
		p.bar = progressbar.NewOptions64(-1, progressbar.OptionSetWriter(file), progressbar.OptionSetDescription(doing),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString(unit),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionFullWidth())
	}
	return p
}

// then returns an update function for the next phase of a command.
func (p *progress) then(doing, unit string) func(done, total int64) {
	var once sync.Once
	return func(done, total int64) {
		once.Do(func() { p.begin(doing, unit) })
		p.update(done, total)
	}
}

func (p *progress) begin(doing, unit string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing, p.unit, p.started = doing, unit, time.Now()
	if p.bar != nil {
		p.bar.Describe(doing)
	}
}

// update records the number of items that are done.
func (p *progress) update(done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.some = p.some || done > 0
	switch {
	case p.quiet:
	case p.events:
		if now := time.Now(); done == total || now.Sub(p.said) >= eventEvery {
			p.said = now
			fmt.Fprintln(p.out, "progress", p.doing, p.unit, done, total)
		}
	case p.bar != nil:
		p.bar.ChangeMax64(total)
		p.bar.Set64(done) // an error is the terminal's, so it cannot be shown
	case time.Since(p.said) >= sayEvery:
		p.said = time.Now()
		fmt.Fprintln(p.out, p.line(done, total))
	}
}

func (p *progress) line(done, total int64) string {
	spent := time.Since(p.started)
	rate := float64(done) / spent.Seconds()
	text := fmt.Sprintf("%s of %s %s", report.Thousands(done), report.Thousands(total), p.unit)
	if rate >= 1 {
		text += fmt.Sprintf(", %.0f %s/s", rate, p.unit)
	}
	if done > 0 {
		text += ", " + time.Duration(float64(total-done)/rate*float64(time.Second)).Round(time.Second).String() + " left"
	}
	return text
}

// spent returns the time since the start, or 0 if nothing was done.
func (p *progress) spent() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.some {
		return 0
	}
	return time.Since(p.begun)
}

// finish removes the bar.
func (p *progress) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Finish() // its error cannot be shown either
	}
}
