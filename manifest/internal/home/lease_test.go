package home

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"varve/readers/source"
	"varve/readers/source/storetest"
)

const underPlace = "bucket/place/"

func openPlace(t *testing.T) *source.Place {
	t.Helper()
	opener := source.NewOpener(nil)
	place, err := opener.Place(t.Context(), "s3://"+underPlace)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opener.Close() })
	return place
}

// TestShow checks that shared leases exclude nobody, and last until they are released.
func TestShow(t *testing.T) {
	m := storetest.NewMemory(t)
	place := openPlace(t)
	ctx, cancel := context.WithCancel(t.Context())
	var held []*Lease
	for range 2 {
		l, err := Show(ctx, place, "locks/writer-")
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, l)
	}
	cancel()
	m.Pass(2 * Life)
	for _, l := range held {
		if err := l.Held(); err != nil || l.Context().Err() != nil || !strings.HasPrefix(l.Key(), "locks/writer-") {
			t.Errorf("%s: %v, %v", l.Key(), err, l.Context().Err())
		}
		before, err := l.Clock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m.Pass(time.Hour)
		if after, err := l.Clock(t.Context()); err != nil || after.Sub(before) < time.Hour {
			t.Errorf("the clock went from %v to %v: %v", before, after, err)
		}
		if err := l.Release(false); err != nil || m.Get(underPlace+l.Key()) != nil {
			t.Errorf("%s is still there: %v", l.Key(), err)
		}
	}
}

// TestTake checks that a lease excludes others until it expires, and that its holder notices then.
func TestTake(t *testing.T) {
	m := storetest.NewMemory(t)
	place, lost := openPlace(t), errors.New("lost")
	first, err := Take(t.Context(), place, "locks/one", lost)
	if err != nil {
		t.Fatal(err)
	}
	m.Pass(Life / 2)
	if _, err := Take(t.Context(), place, "locks/one", lost); !errors.Is(err, ErrHeld) {
		t.Errorf("taken twice: %v", err)
	}
	if err := first.Renew(t.Context()); err != nil {
		t.Error(err)
	}
	m.Pass(Life / 2) // it was renewed in between
	if _, err := Take(t.Context(), place, "locks/one", lost); !errors.Is(err, ErrHeld) {
		t.Errorf("taken twice: %v", err)
	}
	m.Pass(Life)
	second, err := Take(t.Context(), place, "locks/one", lost)
	if err != nil || !second.TookOver() || first.TookOver() {
		t.Fatalf("it expired: %v", err)
	}
	if err := first.Renew(t.Context()); err != lost || first.Held() != lost || context.Cause(first.Context()) != lost {
		t.Errorf("renewing what another has: %v, %v", err, first.Held())
	}
	if err := first.Release(false); err != lost || m.Get(underPlace+"locks/one") == nil {
		t.Errorf("releasing what another has: %v", err)
	}
	if err := second.Release(true); err != nil || len(m.Get(underPlace+"locks/one")) > 0 || len(m.Names(underPlace)) != 1 {
		t.Errorf("after a failure: %v, objects %q", err, m.Names(underPlace))
	}
}

// TestSince checks that time counts even if only one of both clocks advances.
func TestSince(t *testing.T) {
	for name, then := range map[string]time.Time{"both clocks": time.Now().Add(-time.Hour), "the wall clock": time.Now().Round(0).Add(-time.Hour)} {
		if age := Since(then).Age(); age < time.Hour || age > 2*time.Hour {
			t.Errorf("%s: %v", name, age)
		}
	}
}
