package serve_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/fixtures/browser"
)

// TestCatalogueInChromium checks that the cards of several manifests have pictures and extents, and that a page
// says why there is no picture.
func TestCatalogueInChromium(t *testing.T) {
	browser.Chromium(t)
	if testing.Short() {
		t.Skip("skipped with -short: starting a browser is slow")
	}
	files, gone := months(t), filepath.Join(t.TempDir(), "gone.nc")
	data, err := os.ReadFile(files[0])
	if err == nil {
		err = os.WriteFile(gone, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	address := serveManifests(t, buildFiles(t, "east.varve", files...), buildFiles(t, "west.varve", files[:2]...))
	lost := serveManifests(t, buildFiles(t, "gone.varve", gone))
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	dom := browser.Load(t, address+"/", "--dump-dom")
	for _, want := range []string{`href="/east/"`, `href="/west/"`, `src="/west/t2m?as=svg"`, "2021-01-01 to 2021-0"} {
		if !strings.Contains(dom, want) {
			t.Errorf("the catalogue does not contain %s:\n%s", want, dom)
		}
	}
	for light := range browser.Lights {
		browser.Shoot(t, address+"/", "1180,820", light, "serving-catalogue")
	}
	if dom := browser.Load(t, address+"/east/t2m?time=99999", "--dump-dom"); !strings.Contains(dom, "is not an index or range within") {
		t.Errorf("a wrong position: %s", dom)
	}
	if dom := browser.Load(t, lost+"/t2m", "--dump-dom"); !strings.Contains(dom, "No picture (409): ") {
		t.Errorf("the source is gone: %s", dom)
	}
}
