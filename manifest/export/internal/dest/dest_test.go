package dest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"varve/manifest/internal/lease"
	"varve/manifest/repo"
	"varve/readers/source/storetest"
)

const below = "bucket/a b/"

func open(t *testing.T) *Prefix {
	t.Helper()
	p, err := Open(t.Context(), "s3://bucket/a b")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// TestClaim checks that only one export at a time has a claim, and that a released claim shows how the export ended.
func TestClaim(t *testing.T) {
	m := storetest.NewMemory(t)
	p := open(t)
	first, _, err := p.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Claim(t.Context()); !errors.Is(err, repo.ErrBusy) || !strings.Contains(err.Error(), p.Name(ClaimKey)) {
		t.Errorf("while another export has the claim: %v", err)
	}
	boom := errors.New("boom")
	if err := first.Release(boom); err != boom || len(m.Names(below)) > 0 {
		t.Errorf("%v, and there are %q", err, m.Names(below))
	}
	second, _, err := p.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second.Dirty()
	if err := second.Release(boom); err != boom || !slices.Equal(m.Names(below), []string{below + ClaimKey}) {
		t.Errorf("%v, and there are %q", err, m.Names(below))
	}
	m.Pass(10 * time.Second)
	third, _, err := p.Claim(t.Context()) // long before lease.Life, since the claim is empty
	if err != nil {
		t.Fatal(err)
	}
	if err := third.Release(boom); err != boom || !slices.Equal(m.Names(below), []string{below + ClaimKey}) {
		t.Errorf("after the claim that the second left: %v, objects %q", err, m.Names(below))
	}
	m.Pass(10 * time.Second)
	if third, _, err = p.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := third.Release(nil); err != nil || len(m.Names(below)) > 0 {
		t.Errorf("%v, and there are %q", err, m.Names(below))
	}
}

// TestClaimIsTaken checks that another export can take an expired claim. The former owner notices, writes nothing more and
// does not remove the claim.
func TestClaimIsTaken(t *testing.T) {
	m := storetest.NewMemory(t)
	p := open(t)
	first, ctx, err := p.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := first.lease.Renew(ctx); err != nil {
		t.Errorf("renewing it: %v", err)
	}
	m.Pass(lease.Life + 2*time.Second)
	second, _, err := p.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := m.Get(below + ClaimKey)
	if err := first.lease.Renew(ctx); !errors.Is(err, repo.ErrBusy) {
		t.Errorf("renewing one that is another's: %v", err)
	}
	if err := first.Release(context.Canceled); !errors.Is(err, repo.ErrBusy) || errors.Is(err, context.Canceled) {
		t.Errorf("one that was lost: %v", err)
	}
	if text := m.Get(below + ClaimKey); len(text) == 0 || !bytes.Equal(text, want) {
		t.Errorf("the claim is %q instead of %q", text, want)
	}
	if err := second.Release(nil); err != nil || len(m.Names(below)) > 0 {
		t.Errorf("%v, and there are %q", err, m.Names(below))
	}
}

// TestStoodStill checks that an export that was suspended until its claim may have expired stores and removes nothing more,
// even before a timer fires. Also if only the wall clock advanced.
func TestStoodStill(t *testing.T) {
	m := storetest.NewMemory(t)
	m.Put(below+"x", []byte("theirs"))
	ago := -lease.Trust - time.Second
	for name, since := range map[string]time.Time{"the process": time.Now().Add(ago), "the machine": time.Now().Round(0).Add(ago)} {
		p := open(t)
		c, ctx, err := p.Claim(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c.lease.Renewed(lease.Since(since))
		all := t.Context() // which goes on
		for what, err := range map[string]error{
			"store": p.Store(all, "x", []byte("mine")), "remove": p.RemoveThese(all, "x"), "clear": p.Clear(all), "publish": p.Publish(all, "y", strings.NewReader("mine"), ""),
		} {
			if !errors.Is(err, repo.ErrBusy) {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
		if ctx.Err() == nil || !c.IsLost() {
			t.Errorf("%s: the claim is not lost", name)
		}
		if err := c.Release(nil); !errors.Is(err, repo.ErrBusy) {
			t.Errorf("%s: %v", name, err)
		}
		if string(m.Get(below+"x")) != "theirs" || m.Get(below+"y") != nil {
			t.Errorf("%s: there are %q", name, m.Names(below))
		}
		m.Pass(lease.Life + 2*time.Second)
	}
}

// TestClaimAtOnce checks that one of many concurrent exports gets a claim, whether it is free or expired.
func TestClaimAtOnce(t *testing.T) {
	for _, old := range []bool{false, true} {
		m := storetest.NewMemory(t)
		if old {
			m.Put(below+ClaimKey, []byte("of somebody"))
			m.Pass(2 * lease.Life)
		}
		p := open(t)
		var wg sync.WaitGroup
		var mu sync.Mutex
		var held []*Claim
		for range 8 {
			wg.Go(func() {
				c, _, err := p.Claim(t.Context())
				if mu.Lock(); err == nil {
					held = append(held, c)
				} else if !errors.Is(err, repo.ErrBusy) {
					t.Error(err)
				}
				mu.Unlock()
			})
		}
		wg.Wait()
		if len(held) != 1 {
			t.Errorf("%d hold it", len(held))
		}
		for _, c := range held {
			if err := c.Release(nil); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestClaimOfNobody checks that a failed attempt leaves the other export's claim, and no object of its own.
func TestClaimOfNobody(t *testing.T) {
	m := storetest.NewMemory(t)
	m.Put(below+ClaimKey, []byte("of somebody"))
	m.Fault = func(r *http.Request) storetest.Fault {
		if r.Method == http.MethodPut {
			return storetest.Denied
		}
		return nil
	}
	if _, _, err := open(t).Claim(t.Context()); err == nil || string(m.Get(below+ClaimKey)) != "of somebody" {
		t.Errorf("got %v", err)
	}
	m.Fault, m.Careless = nil, true
	m.Remove(below + ClaimKey)
	if _, _, err := open(t).Claim(t.Context()); !errors.Is(err, errors.ErrUnsupported) || len(m.Names("bucket/")) > 0 {
		t.Errorf("%v, and there are %q", err, m.Names("bucket/"))
	}
}

// TestClaimRests checks that the next export waits for the last requests of a failed export.
func TestClaimRests(t *testing.T) {
	m := storetest.NewMemory(t)
	m.Put(below+ClaimKey, nil)
	p := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := p.Claim(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if text := m.Get(below + ClaimKey); len(text) > 0 {
		t.Errorf("the claim is %q", text)
	}
}

func TestClear(t *testing.T) {
	m := storetest.NewMemory(t)
	for _, key := range []string{"zarr.json", "c/0", "c/1", "d/e/f", ClaimKey, Folder + "/journal"} {
		m.Put(below+key, []byte("x"))
	}
	m.Put("bucket/a bc", nil)
	p := open(t)
	if rest, err := p.IsRest(t.Context()); rest || err != nil {
		t.Errorf("a rest: %t, %v", rest, err)
	}
	m.Log()
	if err := p.Clear(t.Context(), "absent", "zarr.json", Folder+"/journal"); err != nil {
		t.Fatal(err)
	}
	if log := m.Log(); log[1] != "DELETE "+below+"zarr.json" || log[2] != "DELETE "+below+Folder+"/journal" {
		t.Errorf("removed in the order of %q", log)
	}
	if got := m.Names("bucket/"); !slices.Equal(got, []string{below + ClaimKey, "bucket/a bc"}) {
		t.Errorf("there are %q", got)
	}
	if rest, err := p.IsRest(t.Context()); !rest || err != nil {
		t.Errorf("a rest: %t, %v", rest, err)
	}
}

func TestStream(t *testing.T) {
	m := storetest.NewMemory(t)
	p := open(t)
	line := strings.Repeat("0123456789", 1<<17) + "\n"
	write := func(w io.Writer) error {
		for range 20 {
			if _, err := io.WriteString(w, line); err != nil {
				return err
			}
		}
		return nil
	}
	if err := p.Stream(t.Context(), "large", write); err != nil || string(m.Get(below+"large")) != strings.Repeat(line, 20) {
		t.Errorf("%d bytes, %v", len(m.Get(below+"large")), err)
	}
	if log := m.Log(); len(log) < 4 {
		t.Errorf("it went at once: %q", log)
	}
	boom := errors.New("boom")
	if err := p.Stream(t.Context(), "none", func(io.Writer) error { return boom }); !errors.Is(err, boom) || m.Get(below+"none") != nil {
		t.Errorf("got %v", err)
	}
}
