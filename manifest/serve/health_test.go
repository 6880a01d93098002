package serve_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"varve/manifest/plan"
	"varve/manifest/serve"
)

// healthOf returns the status of /healthz, and the address and kind of each reason.
func healthOf(t *testing.T, address string) (status string, reasons []string) {
	t.Helper()
	answer, err := http.Get(address + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var doc struct {
		Status  string
		Reasons []struct{ Address, Kind, Reason string }
	}
	if err := json.NewDecoder(answer.Body).Decode(&doc); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %v", answer.StatusCode, err)
	}
	for _, r := range doc.Reasons {
		if r.Reason == "" {
			t.Errorf("%s is %s without a reason", r.Address, r.Kind)
		}
		reasons = append(reasons, r.Address+" "+r.Kind)
	}
	return doc.Status, reasons
}

// TestHealth checks that a server that keeps an old snapshot, or may not read sources, says so.
func TestHealth(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	a := newArchive(t, "")
	a.build(false, plan.Options{}, a.days(0, 4, 1), a.days(4, 4, 1))
	a.serve(time.Millisecond, time.Minute)
	if status, reasons := healthOf(t, a.address); status != "ok" || len(reasons) > 0 {
		t.Errorf("%s because of %q", status, reasons)
	}
	a.append(a.days(8, 4, 1))
	a.settle()
	if status, reasons := healthOf(t, a.address); status != "ok" {
		t.Errorf("after an append, %s because of %q", status, reasons)
	}
	a.build(true, plan.Options{}, a.days(0, 3, 1))
	a.settle()
	if status, reasons := healthOf(t, a.address); status != "degraded" || !slices.Contains(reasons, "/ stale") {
		t.Errorf("after another build, %s because of %q", status, reasons)
	}

	t.Setenv("XDG_CONFIG_HOME", t.TempDir()) // another user
	var log strings.Builder
	h, err := serve.New(t.Context(), []string{a.out}, &serve.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	a.must(err)
	other := httptest.NewServer(h)
	defer func() {
		other.Close()
		a.must(h.Close())
	}()
	if status, reasons := healthOf(t, other.URL); status != "degraded" || !slices.Equal(reasons, []string{"/ forbidden"}) {
		t.Errorf("to another user, %s because of %q", status, reasons)
	}
	if !strings.Contains(log.String(), "level=WARN") {
		t.Errorf("the log says %q", log.String())
	}
}
