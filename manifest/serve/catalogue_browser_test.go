package serve_test

import (
	"strings"
	"testing"

	"varve/fixtures/browser"
)

// TestCatalogueInChromium checks that the cards of several manifests have pictures and extents, and that a wrong slice
// says why there is no picture.
func TestCatalogueInChromium(t *testing.T) {
	browser.Chromium(t)
	if testing.Short() {
		t.Skip("skipped with -short: starting a browser is slow")
	}
	files := months(t)
	address := serveManifests(t, buildFiles(t, "east.varve", files...), buildFiles(t, "west.varve", files[:2]...))
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
}
