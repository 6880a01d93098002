package home

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

	"varve/readers/source/storetest"
)

const under = "bucket/a b/"

func openTest(t *testing.T) *Prefix {
	t.Helper()
	p, err := OpenPrefix(t.Context(), "s3://bucket/a b", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(nil) })
	return p
}

// claim claims the prefix.
func claim(t *testing.T) (p *Prefix, ctx context.Context, err error) {
	t.Helper()
	p = openTest(t)
	ctx, err = p.Claim(t.Context())
	return p, ctx, err
}

// TestClaim checks that only one export at a time has a claim, and that a released claim shows how the export ended.
func TestClaim(t *testing.T) {
	m := storetest.NewMemory(t)
	first, _, err := claim(t)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := claim(t); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), first.Name(ClaimKey)) {
		t.Errorf("while another export has the claim: %v", err)
	}
	boom := errors.New("boom")
	if err := first.Close(boom); err != boom || len(m.Names(under)) > 0 {
		t.Errorf("%v, and there are %q", err, m.Names(under))
	}
	second, _, err := claim(t)
	if err != nil {
		t.Fatal(err)
	}
	second.Dirty()
	if err := second.Close(boom); err != boom || !slices.Equal(m.Names(under), []string{under + ClaimKey}) {
		t.Errorf("%v, and there are %q", err, m.Names(under))
	}
	m.Pass(10 * time.Second)
	third, _, err := claim(t) // long before Life, since the claim is empty
	if err != nil {
		t.Fatal(err)
	}
	if err := third.Close(boom); err != boom || !slices.Equal(m.Names(under), []string{under + ClaimKey}) {
		t.Errorf("after the claim that the second left: %v, objects %q", err, m.Names(under))
	}
	m.Pass(10 * time.Second)
	if third, _, err = claim(t); err != nil {
		t.Fatal(err)
	}
	if err := third.Close(nil); err != nil || len(m.Names(under)) > 0 {
		t.Errorf("%v, and there are %q", err, m.Names(under))
	}
}

// TestClaimIsTaken checks that another export can take an expired claim. The former owner notices, writes nothing more and
// does not remove the claim.
func TestClaimIsTaken(t *testing.T) {
	m := storetest.NewMemory(t)
	first, ctx, err := claim(t)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.claim.Load().Renew(ctx); err != nil {
		t.Errorf("renewing it: %v", err)
	}
	m.Pass(Life + 2*time.Second)
	second, _, err := claim(t)
	if err != nil {
		t.Fatal(err)
	}
	want := m.Get(under + ClaimKey)
	if err := first.claim.Load().Renew(ctx); !errors.Is(err, ErrBusy) {
		t.Errorf("renewing one that is another's: %v", err)
	}
	if err := first.Close(context.Canceled); !errors.Is(err, ErrBusy) || errors.Is(err, context.Canceled) {
		t.Errorf("one that was lost: %v", err)
	}
	if text := m.Get(under + ClaimKey); len(text) == 0 || !bytes.Equal(text, want) {
		t.Errorf("the claim is %q instead of %q", text, want)
	}
	if err := second.Close(nil); err != nil || len(m.Names(under)) > 0 {
		t.Errorf("%v, and there are %q", err, m.Names(under))
	}
}

// TestStoodStill checks that an export that was suspended until its claim may have expired stores and removes nothing more,
// even before a timer fires. Also if only the wall clock advanced.
func TestStoodStill(t *testing.T) {
	m := storetest.NewMemory(t)
	m.Put(under+"x", []byte("theirs"))
	ago := -Trust - time.Second
	for name, since := range map[string]time.Time{"the process": time.Now().Add(ago), "the machine": time.Now().Round(0).Add(ago)} {
		c, ctx, err := claim(t)
		if err != nil {
			t.Fatal(err)
		}
		c.claim.Load().Renewed(Since(since))
		all := t.Context() // which goes on
		for what, err := range map[string]error{
			"store": c.Put(all, "x", []byte("mine"), InPlace), "remove": onlyError(c.Remove(all, "x")), "clear": c.Clear(all), "publish": c.Publish(all, "y", strings.NewReader("mine"), ""),
		} {
			if !errors.Is(err, ErrBusy) {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
		if ctx.Err() == nil || !c.IsLost() {
			t.Errorf("%s: the claim is not lost", name)
		}
		if err := c.Close(nil); !errors.Is(err, ErrBusy) {
			t.Errorf("%s: %v", name, err)
		}
		if string(m.Get(under+"x")) != "theirs" || m.Get(under+"y") != nil {
			t.Errorf("%s: there are %q", name, m.Names(under))
		}
		m.Pass(Life + 2*time.Second)
	}
}

// TestClaimAtOnce checks that one of many concurrent exports gets a claim, whether it is free or expired.
func TestClaimAtOnce(t *testing.T) {
	for _, old := range []bool{false, true} {
		m := storetest.NewMemory(t)
		if old {
			m.Put(under+ClaimKey, []byte("of somebody"))
			m.Pass(2 * Life)
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		var held []*Prefix
		for range 8 {
			wg.Go(func() {
				c, _, err := claim(t)
				if mu.Lock(); err == nil {
					held = append(held, c)
				} else if !errors.Is(err, ErrBusy) {
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
			if err := c.Close(nil); err != nil {
				t.Error(err)
			}
		}
	}
}

func onlyError(_ int, err error) error { return err }

// TestClaimOfNobody checks that a failed attempt leaves the other export's claim, and no object of its own.
func TestClaimOfNobody(t *testing.T) {
	m := storetest.NewMemory(t)
	m.Put(under+ClaimKey, []byte("of somebody"))
	m.SetFault(func(r *http.Request) storetest.Fault {
		if r.Method == http.MethodPut {
			return storetest.Denied
		}
		return nil
	})
	if _, _, err := claim(t); err == nil || string(m.Get(under+ClaimKey)) != "of somebody" {
		t.Errorf("got %v", err)
	}
	m.SetFault(nil)
	m.SetCareless(true)
	m.Remove(under + ClaimKey)
	if _, _, err := claim(t); !errors.Is(err, errors.ErrUnsupported) || len(m.Names("bucket/")) > 0 {
		t.Errorf("%v, and there are %q", err, m.Names("bucket/"))
	}
}

// TestClaimRests checks that the next export waits for the last requests of a failed export.
func TestClaimRests(t *testing.T) {
	m := storetest.NewMemory(t)
	m.Put(under+ClaimKey, nil)
	p := openTest(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := p.Claim(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if text := m.Get(under + ClaimKey); len(text) > 0 {
		t.Errorf("the claim is %q", text)
	}
}

func TestClear(t *testing.T) {
	m := storetest.NewMemory(t)
	for _, key := range []string{"zarr.json", "c/0", "c/1", "d/e/f", ClaimKey, StateFolder + "/journal"} {
		m.Put(under+key, []byte("x"))
	}
	m.Put("bucket/a bc", nil)
	p := openTest(t)
	if rest, err := p.IsRest(t.Context()); rest || err != nil {
		t.Errorf("a rest: %t, %v", rest, err)
	}
	m.Log()
	if err := p.Clear(t.Context(), "absent", "zarr.json", StateFolder+"/journal"); err != nil {
		t.Fatal(err)
	}
	if log := m.Log(); log[1] != "DELETE "+under+"zarr.json" || log[2] != "DELETE "+under+StateFolder+"/journal" {
		t.Errorf("removed in the order of %q", log)
	}
	if got := m.Names("bucket/"); !slices.Equal(got, []string{under + ClaimKey, "bucket/a bc"}) {
		t.Errorf("there are %q", got)
	}
	if rest, err := p.IsRest(t.Context()); !rest || err != nil {
		t.Errorf("a rest: %t, %v", rest, err)
	}
}

func TestWriteObject(t *testing.T) {
	m := storetest.NewMemory(t)
	p := openTest(t)
	line := strings.Repeat("0123456789", 1<<17) + "\n"
	write := func(w io.Writer) error {
		for range 20 {
			if _, err := io.WriteString(w, line); err != nil {
				return err
			}
		}
		return nil
	}
	if err := p.Write(t.Context(), "large", InPlace, write); err != nil || string(m.Get(under+"large")) != strings.Repeat(line, 20) {
		t.Errorf("%d bytes, %v", len(m.Get(under+"large")), err)
	}
	if log := m.Log(); len(log) < 4 {
		t.Errorf("it went at once: %q", log)
	}
	boom := errors.New("boom")
	if err := p.Write(t.Context(), "none", InPlace, func(io.Writer) error { return boom }); !errors.Is(err, boom) || m.Get(under+"none") != nil {
		t.Errorf("got %v", err)
	}
}
