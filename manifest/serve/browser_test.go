package serve_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"varve/fixtures/browser"
)

// pagesShown lists the pages of the demo, by the names of their screenshots.
var pagesShown = []struct{ name, path, size string }{
	{"group", "/", "1180,1120"},
	{"array", "/t2m", "1180,1420"},
}

// TestPagesInChromium checks that the pages are complete in a real browser, light and dark, and that only
// their own script runs. With VARVE_SCREENSHOTS it writes screenshots to that folder.
func TestPagesInChromium(t *testing.T) {
	browser.Chromium(t)
	if testing.Short() {
		t.Skip("skipped with -short: starting a browser is slow")
	}
	address, _ := serveFiles(t, months(t)...)
	wants := map[string][]string{
		"group": {`href="/t2m"`, "xr.open_zarr(", "snapshot <a href=", "Daily mean temperature", "2021-01-01", `id="download"`, "nc_open("},
		"array": {`class="mosaic"`, "2021-01.nc", "numcodecs.zlib", "rectilinear", `<img class="plot"`, `type="range"`},
	}
	for _, page := range pagesShown {
		dom := browser.Load(t, address+page.path, "--dump-dom")
		for _, want := range wants[page.name] {
			if !strings.Contains(dom, want) {
				t.Errorf("the page %s does not contain %s", page.name, want)
			}
		}
		for light := range browser.Lights {
			browser.Shoot(t, address+page.path, page.size, light, "serving-"+page.name)
		}
	}
	checkLoads(t, address)
}

// checkLoads checks that Chromium decodes the plots, by loading them in another page that reports their
// sizes.
func checkLoads(t *testing.T, address string) {
	t.Helper()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<pre id="result"></pre><script>
const sizes = [];
for (const form of ["svg", "png"]) {
  const img = new Image();
  img.onload = () => sizes.push(form + " " + img.naturalWidth + "x" + img.naturalHeight);
  img.onerror = () => sizes.push(form + " cannot be drawn");
  img.src = "` + address + `/t2m?as=" + form;
}
addEventListener("load", () => setTimeout(() => { document.getElementById("result").textContent = sizes.sort().join(", "); }, 5000));
</script>`))
	}))
	defer page.Close()
	dom := browser.Load(t, page.URL, "--dump-dom")
	if text := resultOf.FindStringSubmatch(dom); text == nil || text[1] != "png 760x440, svg 760x440" {
		t.Errorf("%s", dom)
	}
}
