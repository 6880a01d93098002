package main

import (
	"strings"
	"testing"
	"time"
)

// TestSayKept checks the advice after a long scan that was lost, and after one that was kept.
func TestSayKept(t *testing.T) {
	for _, c := range []struct {
		folder string
		spent  time.Duration
		want   string
	}{
		{"", 0, ""}, {"", time.Second, ""}, {"", longScan, "--keep-scan FOLDER"},
		{"kept", 0, ""}, {"kept", time.Second, "kept in kept: run the same command again"},
	} {
		var out strings.Builder
		(&combineOptions{keepScan: c.folder}).sayKept(&out, c.spent)
		if got := out.String(); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%q after %v: %q", c.folder, c.spent, got)
		}
	}
}
