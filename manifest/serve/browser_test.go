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

// pagesShown are the pages of the demo, by the names of their pictures.
var pagesShown = []struct{ name, path, size string }{
	{"group", "/", "1180,1120"},
	{"array", "/t2m", "1180,1420"},
}

// lights are the flags of Chromium for what people prefer.
var lights = map[string]string{"light": "--blink-settings=preferredColorScheme=1", "dark": "--blink-settings=preferredColorScheme=0"}

// TestPagesInChromium: the pages are whole in a real browser, are light and dark, and their
// script, which is all that runs, does so. With VARVE_SCREENSHOTS it leaves pictures of them in that folder.
func TestPagesInChromium(t *testing.T) {
	chromium(t)
	if testing.Short() {
		t.Skip("a browser takes its time")
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

// shoot takes a picture of a page.
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

// checkLight looks at the paper of a page.
func checkLight(t *testing.T, light string, picture []byte) {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	r, g, b, _ := img.At(3, 30).RGBA() // below the stripe
	if dark := r+g+b < 3*0x4000; dark != (light == "dark") {
		t.Errorf("the page is not %s: its paper is %x %x %x", light, r>>8, g>>8, b>>8)
	}
}

// checkLoads has a page beside see that Chromium can draw the plots, and says of what size.
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

// maxPicture bounds the pictures, which are kept with the code.
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
