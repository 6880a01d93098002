package main

import (
	"testing"

	"varve/manifest"
)

// TestFaultsText: a manifest is reported only if it may have a fault of an older version.
func TestFaultsText(t *testing.T) {
	const want = "sst.varve: built by an older varve, which padded shorter files without comparing their values with the longest file. " +
		"Its arrays may be wrong; build it again with --force\n"
	s := &manifest.Snapshot{Options: []byte(`{"Pad":"fill"}`)}
	if got := faultsText("sst.varve", s); got != want {
		t.Errorf("%s", got)
	}
	s.Generation = manifest.Generation
	if got := faultsText("sst.varve", s); got != "" {
		t.Errorf("of a new one: %s", got)
	}
	if got := faultsText("sst.varve", &manifest.Snapshot{Options: []byte(`{}`)}); got != "" {
		t.Errorf("of one without the fault: %s", got)
	}
}
