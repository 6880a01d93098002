package repo

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"varve/manifest"
	"varve/manifest/internal/home"
)

// history is what happened to the files of a simulated repository, in the order in which the store or the disk applied it.
// It checks, at each change and at the end of each operation:
//
//   - current is linearisable: every snapshot that becomes current has the one before as its parent, every read returns a
//     snapshot that was current during the read, and every publication has the result that it reports;
//   - nothing is lost: the newest snapshots, as many as every gc had to keep, exist with all their tables, and so do tagged
//     snapshots, with their tags;
//   - every file has the content that its name says.
type history struct {
	step    func() int
	content func(name string) []byte // of a file of the repository, or nil

	mu        sync.Mutex
	snapshots map[string]*manifest.Snapshot
	states    []state
	ever      map[string]bool   // snapshots that were current
	denied    []string          // snapshots that were reported not to be published
	acked     int               // the states up to this index were reported as published
	tags      map[string]string // tags that current must have, and their snapshots
	keep      int               // the fewest snapshots that a gc had to keep; 0 if none ran
	anomalies []string
}

// state is a snapshot that became current at a step. The first state has no snapshot.
type state struct {
	id   string
	step int
}

func newHistory(step func() int, content func(string) []byte) *history {
	return &history{step: step, content: content, snapshots: map[string]*manifest.Snapshot{}, ever: map[string]bool{}, tags: map[string]string{}, states: []state{{}}}
}

func (h *history) anomaly(format string, args ...any) {
	h.anomalies = append(h.anomalies, fmt.Sprintf("step %d: ", h.step())+fmt.Sprintf(format, args...))
}

func (h *history) last() string { return h.states[len(h.states)-1].id }

// stored is called when a file gets its name and content.
func (h *history) stored(name string, content []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	folder, base, _ := strings.Cut(name, "/")
	switch folder {
	case "current":
		h.changed(content)
	case snapshotFolder:
		id := strings.TrimSuffix(base, ".json")
		snap, err := manifest.DecodeSnapshot(content)
		if err != nil || home.VersionOf(content) != id {
			h.anomaly("%s has other content: %v", name, err)
			return
		}
		h.snapshots[id] = snap
	case "tables", "patches":
		if !strings.Contains(base, home.VersionOf(content)) {
			h.anomaly("%s has other content", name)
		}
	}
}

// pointed returns the snapshot that a content of current names.
func pointed(content []byte) (string, error) {
	if content == nil {
		return "", nil
	}
	var p pointer
	err := json.Unmarshal(content, &p)
	return p.Snapshot, err
}

// changed is called when current has a new content.
func (h *history) changed(content []byte) {
	id, err := pointed(content)
	if err != nil || id == "" {
		h.anomaly("current is %q: %v", content, err)
		return
	}
	h.haveTags(content)
	if id == h.last() { // tags or a mark of gc were changed
		return
	}
	if snap := h.snapshots[id]; snap == nil {
		h.anomaly("current names %.8s, which was never stored", id)
	} else if snap.Parent != h.last() {
		h.anomaly("%.8s replaced %.8s in current, but follows %.8s: a publication is lost", id, h.last(), snap.Parent)
	}
	h.states = append(h.states, state{id, h.step()})
	h.ever[id] = true
	h.complete(id)
}

// complete checks that a snapshot's files exist.
func (h *history) complete(id string) {
	snap := h.snapshots[id]
	if snap == nil {
		return
	}
	if h.content(snapshotName(id)) == nil {
		h.anomaly("%s is lost", snapshotName(id))
	}
	for _, t := range snap.Tables {
		if home.VersionOf(h.content(t.Name)) != t.Sum {
			h.anomaly("%s of the snapshot %.8s is lost or changed", t.Name, id)
		}
	}
}

// mustKeep notes that a gc keeps this many snapshots.
func (h *history) mustKeep(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.keep == 0 || n < h.keep {
		h.keep = n
	}
}

// mayLoseTag notes that a tag is about to be changed.
func (h *history) mayLoseTag(tag string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.tags, tag)
}

// wasTagged notes that a change of a tag was reported as successful.
func (h *history) wasTagged(tag, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tags[tag] = id
}

// haveTags checks that the content of current has all tags that it must have.
func (h *history) haveTags(content []byte) {
	var p pointer
	if json.Unmarshal(content, &p) != nil {
		return // changed reports it
	}
	for tag, id := range h.tags {
		if p.Tags[tag] != id {
			h.anomaly("the tag %s of %.8s is lost: current has %v", tag, id, p.Tags)
		}
	}
}

// kept returns the snapshots that must exist, the newest last.
func (h *history) kept() []string {
	var ids []string
	for _, s := range h.states[1:] {
		ids = append(ids, s.id)
	}
	if h.keep > 0 && len(ids) > h.keep {
		ids = ids[len(ids)-h.keep:]
	}
	for _, id := range h.tags {
		if !slices.Contains(ids, id) {
			ids = append([]string{id}, ids...)
		}
	}
	return ids
}

// removed is called when a file was removed.
func (h *history) removed(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range h.kept() {
		if snap := h.snapshots[id]; name == snapshotName(id) || snap != nil && slices.ContainsFunc(snap.Tables, func(t manifest.Table) bool { return t.Name == name }) {
			h.anomaly("%s was removed, but the snapshot %.8s, one of the newest or tagged, needs it", name, id)
		}
	}
	if name == currentName {
		h.anomaly("current was removed")
	}
}

// wasRead checks the result of a read of current.
func (h *history) wasRead(id string, begin int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, s := range h.states {
		if s.id == id && (i+1 == len(h.states) || h.states[i+1].step >= begin) {
			return
		}
	}
	h.anomaly("a read of current that began at step %d returned %.8s, which was not current then", begin, id)
}

// wasPublished notes a publication that was reported as successful.
func (h *history) wasPublished(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, s := range h.states {
		if s.id == id {
			h.acked = max(h.acked, i)
			return
		}
	}
	h.anomaly("the publication of %.8s was reported, but it was never current", id)
}

// wasDenied notes a publication that was reported as a conflict.
func (h *history) wasDenied(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.denied = append(h.denied, id)
}

// failedToRead checks an error of a reader of a snapshot: only snapshots that a gc may remove may be incomplete.
func (h *history) failedToRead(id string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.Contains(h.kept(), id) {
		h.anomaly("the snapshot %.8s cannot be read: %v", id, err)
	}
}

// restarted is called after a power failure with the content of current on the disk.
func (h *history) restarted(content []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id, err := pointed(content)
	at := slices.IndexFunc(h.states, func(s state) bool { return s.id == id })
	switch {
	case err != nil || at < 0:
		h.anomaly("after a power failure, current is %q: %v", content, err)
		return
	case at < h.acked:
		h.anomaly("after a power failure, current is %.8s: the snapshots after it, which were reported as published, are lost", id)
	}
	h.haveTags(content)
	h.states = h.states[:at+1]
	for _, id := range h.kept() {
		h.complete(id)
	}
}

// end makes the checks that need the whole history.
func (h *history) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range h.denied {
		if h.ever[id] {
			h.anomaly("the publication of %.8s was reported as a conflict, but it was current", id)
		}
	}
	for _, id := range h.kept() {
		h.complete(id)
	}
	if id, err := pointed(h.content(currentName)); err != nil || id != h.last() {
		h.anomaly("current is %.8s at the end, not %.8s: %v", id, h.last(), err)
	}
}
