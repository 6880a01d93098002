package main

import (
	"testing"

	"varve/manifest"
)

// TestMendedText: a manifest is said to be older only where that may be seen in it.
func TestMendedText(t *testing.T) {
	const want = "sst.varve: built by an older varve, which did not hold narrower files to the values of the widest when shorter files were padded with fill: " +
		"what it holds may be wrong until it is built anew with --force\n"
	s := &manifest.Snapshot{Options: []byte(`{"Pad":"fill"}`)}
	if got := mendedText("sst.varve", s); got != want {
		t.Errorf("%s", got)
	}
	s.Generation = manifest.Generation
	if got := mendedText("sst.varve", s); got != "" {
		t.Errorf("of a new one: %s", got)
	}
	if got := mendedText("sst.varve", &manifest.Snapshot{Options: []byte(`{}`)}); got != "" {
		t.Errorf("of one without the fault: %s", got)
	}
}
