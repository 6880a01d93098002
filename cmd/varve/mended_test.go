package main

import (
	"testing"

	"varve/manifest"
)

// TestMendedText: only a manifest that may have the fault of an older varve is reported.
func TestMendedText(t *testing.T) {
	const want = "sst.varve: built by an older varve, which did not hold narrower files to the values of the widest when shorter files were padded with fill: " +
		"it may have wrong values until you build it again with --force\n"
	s := &manifest.Snapshot{Options: []byte(`{"Pad":"fill"}`)}
	if got := mendedText("sst.varve", s); got != want {
		t.Errorf("%s", got)
	}
	s.Generation = manifest.Generation
	if got := mendedText("sst.varve", s); got != "" {
		t.Errorf("a manifest of this varve: %s", got)
	}
	if got := mendedText("sst.varve", &manifest.Snapshot{Options: []byte(`{}`)}); got != "" {
		t.Errorf("a manifest without the fault: %s", got)
	}
}
