package text

import (
	"strings"
	"testing"

	"varve/manifest/report"
)

// TestPage checks that names are escaped, and that the page loads no other files.
func TestPage(t *testing.T) {
	p := Page{Title: "a <b>", Summary: "3 files", Findings: []report.Finding{
		{Code: report.PackingDiffers, Array: "/x", Files: report.Named("/d/<i>.nc"), Count: 1, Of: 3, Effect: report.Reencoded,
			Args:     report.Args{"name": "scale_factor", "main": "0.1 & more", "odd": []report.Variant{{Value: "0.2", Files: 1}}},
			Remedies: []report.Remedy{report.Do(report.Coords, "first", "")}}},
		Arrays: []PageArray{{Path: "/x", Picture: "<svg></svg>"}}}
	var b strings.Builder
	if err := (&Printer{}).Page(&b, &p); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a &lt;b&gt;", "0.1 &amp; more", "&lt;i&gt;.nc", "<svg></svg>", `class="re-encoded"`, "coords=first"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, b.String())
		}
	}
	for _, foreign := range []string{"http://", "https://", "<script", "src="} {
		if strings.Contains(b.String(), foreign) {
			t.Errorf("the page loads other files: it contains %q", foreign)
		}
	}
}
