package repo

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"varve/fixtures/soak"
	"varve/manifest/internal/home"
)

// faulty wraps the files of a repository: the disk has room for a limited number of bytes, and a
// limited number of calls succeed.
type faulty struct {
	files
	bytes, calls int
}

func (f *faulty) call() error {
	if f.calls--; f.calls < 0 {
		return syscall.EIO
	}
	return nil
}

func (f *faulty) Begin() (home.Draft, error) {
	if err := f.call(); err != nil {
		return nil, err
	}
	d, err := f.files.Begin()
	if err != nil {
		return nil, err
	}
	return &faultyDraft{d, f}, nil
}

func (f *faulty) Open(ctx context.Context, name string, size int64) (home.File, error) {
	if err := f.call(); err != nil {
		return nil, err
	}
	return f.files.Open(ctx, name, size)
}

func (f *faulty) Remove(ctx context.Context, names ...string) (int, error) {
	n, err := f.files.Remove(ctx, names...)
	return n, errors.Join(f.call(), err)
}

func (f *faulty) ReadVersion(ctx context.Context, key string, most int64) ([]byte, string, error) {
	if err := f.call(); err != nil {
		return nil, "", err
	}
	return f.files.ReadVersion(ctx, key, most)
}

// swapCurrent fails if the disk has no room for the new content of current.
func (f *faulty) swapCurrent(ctx context.Context, since pointerState, p *pointer) error {
	if err := f.call(); err != nil {
		return err
	}
	if len(p.encode()) > f.bytes {
		f.bytes = 0
		return syscall.ENOSPC
	}
	f.bytes -= len(p.encode())
	return errors.Join(f.files.swapCurrent(ctx, since, p), f.call())
}

type faultyDraft struct {
	home.Draft
	disk *faulty
}

func (d *faultyDraft) Write(p []byte) (int, error) {
	room := min(d.disk.bytes, len(p))
	d.disk.bytes -= room
	n, err := d.Draft.Write(p[:room])
	if err == nil && room < len(p) {
		err = syscall.ENOSPC
	}
	return n, err
}

func (f *faulty) Finish(ctx context.Context, drafts ...home.Named) error {
	for i, n := range drafts {
		if err := f.call(); err != nil {
			return err
		}
		drafts[i].Draft = n.Draft.(*faultyDraft).Draft
	}
	return errors.Join(f.files.Finish(ctx, drafts...), f.call())
}

func (d *faultyDraft) Discard() error {
	return errors.Join(d.disk.call(), d.Draft.Discard())
}

// tryPublish publishes on a faulty disk, and checks that the current snapshot is then either the one
// before or the complete new one.
func tryPublish(t *testing.T, r *Repository, bytes, calls int) (finished bool) {
	t.Helper()
	old := current(t, r)
	text := fmt.Sprintf("%d bytes, %d calls", bytes, calls)

	healthy := r.files
	r.files = &faulty{healthy, bytes, calls}
	_, err := publishTexts(t.Context(), r, "x", text)
	_ = r.discard() // GC removes drafts that cannot be removed now
	r.files = healthy

	now := current(t, r)
	wanted := now.Message == "x,"+text
	if (err == nil || now.ID != old.ID) && !wanted {
		t.Errorf("Publish returned %v, but the current snapshot is %q", err, now.Message)
	}
	if err := r.Check(t.Context(), now); err != nil {
		t.Error(err)
	}
	if err != nil && !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EIO) {
		t.Errorf("the error hides its cause: %v", err)
	}
	return err == nil
}

// TestFullDisk publishes on disks with more and more room, until publishing succeeds. It checks that the
// current snapshot is complete after each attempt.
func TestFullDisk(t *testing.T) { everywhere(t, testFullDisk) }

func testFullDisk(t *testing.T, h *homes) {
	step := 17
	if soak.Duration(t, 0) > 0 {
		step = 1
	}
	r := h.repository(t)
	mustPublish(t, r, "old")
	for n := 0; !tryPublish(t, r, n, 1e6); n += step {
		if t.Failed() || n > 2000 {
			t.Fatalf("failed with room for %d bytes", n)
		}
	}
	if got := messages(t, r); len(got) != 2 {
		t.Errorf("history is %q", got)
	}
}

// TestEveryCallFails lets the first call fail, then the second, and so on, until publishing succeeds. It
// checks that the current snapshot is complete after each attempt.
func TestEveryCallFails(t *testing.T) { everywhere(t, testEveryCallFails) }

func testEveryCallFails(t *testing.T, h *homes) {
	r := h.repository(t)
	mustPublish(t, r, "old")
	n := 0
	for ; !tryPublish(t, r, 1e6, n); n++ {
		if t.Failed() || n > 100 {
			t.Fatalf("failed after %d successful calls", n)
		}
	}
	if n < 10 {
		t.Errorf("made only %d calls", n)
	}
}
