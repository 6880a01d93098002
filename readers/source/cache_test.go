package source_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"varve/readers/source"
	"varve/readers/source/sourcetest"
)

const block = 64 << 10

// remoteLike is the tuning for files on servers.
var remoteLike = source.Tuning{Ahead: 1 << 20, Tail: 256 << 10, Gap: 256 << 10, Joined: 8 << 20, Parallel: 8}

func memory(size int, tuned source.Tuning) (*sourcetest.Memory, *source.Source) {
	m := sourcetest.NewMemory(sourcetest.Content(size, 12))
	m.Tuned = tuned
	return m, source.New("memory", m)
}

// show returns reads as text, in blocks: "0+1 1+2".
func show(reads []source.Range) string {
	var b strings.Builder
	for _, r := range reads {
		fmt.Fprintf(&b, " %d+%d", r.Offset/block, (r.Length+block-1)/block)
	}
	return strings.TrimSpace(b.String())
}

func TestReadAhead(t *testing.T) {
	const size = 100*block + 5 // the tail begins in block 96
	for _, c := range []struct {
		name  string
		views []int64 // in blocks
		want  string
	}{
		{"forward, twice as many each time", []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20, 30}, "0+1 1+2 3+4 7+8 15+16"},
		{"not more than Ahead", []int64{0, 1, 3, 7, 15, 31, 47, 63}, "0+1 1+2 3+4 7+8 15+16 31+16 47+16 63+16"},
		{"here and there, one at a time", []int64{50, 20, 80, 3}, "50+1 20+1 80+1 3+1"},
		{"a short way forward", []int64{10, 12, 16}, "10+1 12+2 16+4"},
		{"up to a cached block", []int64{7, 4, 6}, "7+1 4+2 6+1"},
		{"a short way back", []int64{50, 40, 49}, "50+1 40+2 49+1"},
		{"too far ahead", []int64{10, 28, 46}, "10+1 28+1 46+1"},
		{"the tail at once", []int64{100, 99, 97, 98, 96}, "96+5"},
		{"the tail without cached blocks", []int64{95, 96, 100}, "95+1 96+5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, s := memory(size, remoteLike)
			content := sourcetest.Content(size, 12)
			for _, at := range c.views {
				got, err := s.View(context.Background(), at*block, 5)
				if err != nil || string(got) != string(content[at*block:at*block+5]) {
					t.Fatalf("wrong bytes, error %v", err)
				}
			}
			if got := show(m.Reads()); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestViewOfManyBlocks(t *testing.T) {
	m, s := memory(100*block, remoteLike)
	for _, c := range []struct {
		off  int64
		n    int
		want string
	}{
		{10*block + 1, 5 * block, "10+6"},
		{12 * block, 6 * block, "10+6 16+2"},
		{30 * block, 40 * block, "10+6 16+2 30+40"}, // after the cached blocks
		{30 * block, 1, "10+6 16+2 30+40 30+4"},
	} {
		got, err := s.View(context.Background(), c.off, c.n)
		if err != nil || string(got) != string(sourcetest.Content(100*block, 12)[c.off:c.off+int64(c.n)]) {
			t.Fatalf("wrong bytes, error %v", err)
		}
		if got := show(m.Reads()); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// TestCacheLimit checks that sources share a cache, and which blocks must be read again.
func TestCacheLimit(t *testing.T) {
	server := sourcetest.NewServer(t)
	opener := source.NewOpener(&source.Options{CacheBytes: 10 * block, HeadBytes: block, AheadBytes: block, TailBytes: 1})
	defer opener.Close()
	var all []*source.Source
	for i := range 2 {
		s, err := opener.Open(context.Background(), server.Put(fmt.Sprint("/", i), sourcetest.Content(100*block, byte(i))))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		all = append(all, s)
	}
	reads := func(s *source.Source, at int64) int64 {
		before := s.Stats().Requests
		if _, err := s.View(context.Background(), at*block, 1); err != nil {
			t.Fatal(err)
		}
		return s.Stats().Requests - before
	}
	for i := range int64(8) { // these and the two heads fill the cache
		reads(all[i%2], 10+5*i)
	}
	if reads(all[0], 0) != 0 {
		t.Error("block 0 was dropped before the limit")
	}
	reads(all[1], 90) // replaces block 0 of source 1, because block 0 of source 0 was used
	if reads(all[0], 0) != 0 {
		t.Error("a block was dropped although it was used")
	}
	if reads(all[1], 0) != 1 {
		t.Error("the limit is exceeded")
	}
	if err := all[1].Close(); err != nil {
		t.Fatal(err)
	}
	for i := range int64(5) { // fits into the memory that source 1 leaves
		reads(all[0], 80-5*i)
	}
	if reads(all[0], 0) != 0 {
		t.Error("a closed source keeps its memory")
	}
}

// TestSingleFlight checks that several readers of one block cause one read.
func TestSingleFlight(t *testing.T) {
	m, s := memory(100*block, source.Tuning{})
	begun, goOn := make(chan struct{}, 100), make(chan struct{})
	m.Before = func(context.Context, int64, int) error {
		begun <- struct{}{}
		<-goOn
		return nil
	}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if _, err := s.View(context.Background(), 50*block+int64(i), 10); err != nil {
				t.Error(err)
			}
		})
	}
	<-begun
	time.Sleep(10 * time.Millisecond)
	close(goOn)
	wg.Wait()
	if got := show(m.Reads()); got != "50+1" {
		t.Errorf("reads are %s", got)
	}
}

// TestAbandonedFlight checks that the other readers still get a block after the context of the first reader ends.
func TestAbandonedFlight(t *testing.T) {
	m, s := memory(100*block, source.Tuning{})
	begun := make(chan struct{}, 100)
	m.Before = func(ctx context.Context, _ int64, _ int) error {
		begun <- struct{}{}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
		return nil
	}
	leader, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := s.View(leader, 50*block, 10); !errors.Is(err, context.Canceled) {
			t.Errorf("the reader: got %v", err)
		}
	})
	<-begun
	for range 5 {
		wg.Go(func() {
			if _, err := s.View(context.Background(), 50*block, 10); err != nil {
				t.Errorf("a waiting reader: got %v", err)
			}
		})
	}
	impatient, stop := context.WithCancel(context.Background())
	stop()
	if _, err := s.View(impatient, 50*block, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("a reader that stopped waiting: got %v", err)
	}
	cancel()
	wg.Wait()
}

// TestFailedRead checks that a failed read leaves nothing in the cache.
func TestFailedRead(t *testing.T) {
	m, s := memory(100*block, remoteLike)
	broken := errors.New("broken")
	m.Before = func(context.Context, int64, int) error { return broken }
	if _, err := s.View(context.Background(), 0, 10); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	m.Before = nil
	if _, err := s.View(context.Background(), 0, 10); err != nil {
		t.Errorf("after the failure: %v", err)
	}
}

// short returns fewer bytes than requested, without an error.
type short struct{ source.Ranges }

func (s short) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	return s.Ranges.ReadAt(ctx, p[:len(p)/2], off)
}

// ending returns io.EOF before the end of the source.
type ending struct{ source.Ranges }

func (ending) ReadAt(context.Context, []byte, int64) (int, error) { return 0, io.EOF }

func TestShortReads(t *testing.T) {
	m, _ := memory(100*block, source.Tuning{})
	for name, ranges := range map[string]source.Ranges{"short": short{m}, "ending": ending{m}} {
		s := source.New("memory", ranges)
		if got, err := s.View(context.Background(), 0, 100); !errors.Is(err, source.ErrChanged) {
			t.Errorf("%s: View gave %d bytes and %v", name, len(got), err)
		}
		if n, err := s.ReadAt(context.Background(), make([]byte, 100), 0); !errors.Is(err, source.ErrChanged) || n > 0 {
			t.Errorf("%s: ReadAt gave %d bytes and %v", name, n, err)
		}
	}
}

func TestReadRangesJoins(t *testing.T) {
	type ranges = []source.Range
	tuned := source.Tuning{Gap: 100, Joined: 1000, Parallel: 2}
	for _, c := range []struct {
		name        string
		asked, read ranges
	}{
		{"none", nil, nil},
		{"one", ranges{{Offset: 5, Length: 10}}, ranges{{Offset: 5, Length: 10}}},
		{"near", ranges{{Offset: 0, Length: 10}, {Offset: 110, Length: 10}}, ranges{{Offset: 0, Length: 120}}},
		{"not near", ranges{{Offset: 0, Length: 10}, {Offset: 111, Length: 10}}, ranges{{Offset: 0, Length: 10}, {Offset: 111, Length: 10}}},
		{"in any order", ranges{{Offset: 110, Length: 10}, {Offset: 0, Length: 10}}, ranges{{Offset: 0, Length: 120}}},
		{"one in another", ranges{{Offset: 0, Length: 100}, {Offset: 10, Length: 10}, {Offset: 150, Length: 1}}, ranges{{Offset: 0, Length: 151}}},
		{"not longer than Joined", ranges{{Offset: 0, Length: 600}, {Offset: 600, Length: 600}}, ranges{{Offset: 0, Length: 600}, {Offset: 600, Length: 600}}},
		{"unless they overlap", ranges{{Offset: 0, Length: 600}, {Offset: 599, Length: 600}}, ranges{{Offset: 0, Length: 1199}}},
		{"empty", ranges{{Offset: 50, Length: 0}, {Offset: 0, Length: 10}}, ranges{{Offset: 0, Length: 50}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, s := memory(5000, tuned)
			out := make([][]byte, len(c.asked))
			if err := s.ReadRanges(context.Background(), c.asked, out); err != nil {
				t.Fatal(err)
			}
			for i, r := range c.asked {
				if string(out[i]) != string(sourcetest.Content(5000, 12)[r.Offset:r.End()]) {
					t.Errorf("range %d: wrong bytes", i)
				}
			}
			read := m.Reads()
			slices.SortFunc(read, func(a, b source.Range) int { return int(a.Offset - b.Offset) })
			if !slices.Equal(read, c.read) {
				t.Errorf("read %v, want %v", read, c.read)
			}
		})
	}
	_, s := memory(100, tuned)
	if err := s.ReadRanges(context.Background(), ranges{{Offset: 0, Length: 1}}, nil); err == nil {
		t.Error("too few buffers: no error")
	}
}

func TestPrefetch(t *testing.T) {
	type ranges = []source.Range
	at := func(blocks ...int64) ranges {
		var out ranges
		for _, b := range blocks {
			out = append(out, source.Range{Offset: b*block + 100, Length: 10})
		}
		return out
	}
	for _, c := range []struct {
		name   string
		viewed []int64
		hint   ranges
		want   string
	}{
		{"nothing", nil, nil, ""},
		{"one is no hint", nil, at(5), ""},
		{"far apart, in any order, twice", nil, at(90, 10, 50, 10), "10+1 50+1 90+1"},
		{"near each other", nil, at(20, 23, 30), "20+4 30+1"},
		{"cached blocks", []int64{50}, at(10, 50, 90), "50+1 10+1 90+1"},
		{"over two blocks", nil, ranges{{Offset: 10*block - 1, Length: 2}, {Offset: 50 * block, Length: 1}}, "9+2 50+1"},
		{"outside", nil, ranges{{Offset: -5, Length: 10}, {Offset: 1 << 40, Length: 10}, {Offset: 0, Length: -1}, {Offset: 99 * block, Length: 1 << 40}}, "99+2"},
		{"walking on", []int64{10}, at(11, 12), "10+1 11+2"},
		{"all of it", nil, append(at(0), source.Range{Offset: 5, Length: 1 << 40}), "0+101"},
	} {
		t.Run(c.name, func(t *testing.T) {
			const size = 100*block + 5
			m, s := memory(size, remoteLike)
			for _, v := range c.viewed {
				if _, err := s.View(context.Background(), v*block, 1); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Prefetch(context.Background(), c.hint); err != nil {
				t.Fatal(err)
			}
			reads := m.Reads()
			slices.SortFunc(reads[len(c.viewed):], func(a, b source.Range) int { return int(a.Offset - b.Offset) })
			if got := show(reads); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			content := sourcetest.Content(size, 12)
			for _, r := range c.hint {
				if r.Offset < 0 || r.Length < 0 || r.End() > size {
					continue
				}
				got, err := s.View(context.Background(), r.Offset, int(r.Length))
				if err != nil || string(got) != string(content[r.Offset:r.End()]) {
					t.Errorf("wrong bytes, error %v", err)
				}
			}
			if got := len(m.Reads()); got != len(reads) && len(c.hint) > 1 {
				t.Errorf("%d reads of prefetched ranges", got-len(reads))
			}
		})
	}
}

// TestFailedPrefetch checks that a failed prefetch does not block later reads and leaves no data in the cache.
func TestFailedPrefetch(t *testing.T) {
	m, s := memory(100*block, remoteLike)
	broken := errors.New("broken")
	m.Before = func(_ context.Context, off int64, _ int) error {
		if off > 50*block {
			return broken
		}
		return nil
	}
	var hint []source.Range
	for i := range int64(20) {
		hint = append(hint, source.Range{Offset: i * 5 * block, Length: 1})
	}
	if err := s.Prefetch(context.Background(), hint); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	m.Before = nil
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, r := range hint {
		if _, err := s.View(ctx, r.Offset, 1); err != nil {
			t.Fatalf("at %d: %v", r.Offset, err)
		}
	}
}
