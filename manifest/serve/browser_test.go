package serve_test

import (
	"bytes"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pagesShown lists the pages of the demo, by the names of their screenshots.
var pagesShown = []struct{ name, path, size string }{
	{"group", "/", "1180,1120"},
	{"array", "/t2m", "1180,1420"},
}

// lights has Chromium's flags for the preferred colour scheme.
var lights = map[string]string{"light": "--blink-settings=preferredColorScheme=1", "dark": "--blink-settings=preferredColorScheme=0"}

// TestPagesInChromium checks that the pages are complete in a real browser, light and dark, and that only
// their own script runs. With VARVE_SCREENSHOTS it writes screenshots to that folder.
func TestPagesInChromium(t *testing.T) {
	chromium(t)
	if testing.Short() {
		t.Skip("skipped with -short: starting a browser is slow")
	}
	address, _ := serveFiles(t, months(t)...)
	wants := map[string][]string{
		"group": {`href="/t2m"`, "xr.open_zarr(", "snapshot <a href=", "Daily mean temperature", "2021-01-01"},
		"array": {`class="mosaic"`, "2021-01.nc", "numcodecs.zlib", "rectilinear", `<img class="plot"`, `type="range"`},
	}
	dir := os.Getenv("VARVE_SCREENSHOTS")
	for _, page := range pagesShown {
		dom := browse(t, address+page.path, "--dump-dom")
		for _, want := range wants[page.name] {
			if !strings.Contains(dom, want) {
				t.Errorf("%s has no %s", page.name, want)
			}
		}
		for light, flag := range lights {
			picture := shoot(t, address+page.path, page.size, flag)
			checkLight(t, light, picture)
			if dir != "" {
				keep(t, filepath.Join(dir, "serving-"+page.name+"-"+light+".png"), picture)
			}
		}
	}
	checkLoads(t, address)
}

// shoot takes a screenshot of a page.
func shoot(t *testing.T, address, size string, flags ...string) []byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "page.png")
	browse(t, address, append(flags, "--window-size="+size, "--screenshot="+name)...)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// checkLight checks the background colour of a page.
func checkLight(t *testing.T, light string, picture []byte) {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	r, g, b, _ := img.At(3, 30).RGBA() // below the stripe
	if dark := r+g+b < 3*0x4000; dark != (light == "dark") {
		t.Errorf("the page is not %s: its background is %x %x %x", light, r>>8, g>>8, b>>8)
	}
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
	dom := browse(t, page.URL, "--dump-dom")
	if text := resultOf.FindStringSubmatch(dom); text == nil || text[1] != "png 760x440, svg 760x440" {
		t.Errorf("%s", dom)
	}
}

// maxPicture bounds the size of the screenshots, which are stored in the repository.
const maxPicture = 150 << 10

func keep(t *testing.T, name string, picture []byte) {
	t.Helper()
	if len(picture) > maxPicture {
		t.Errorf("%s would have %d bytes", name, len(picture))
	}
	if err := os.WriteFile(name, picture, 0o666); err != nil {
		t.Fatal(err)
	}
}
