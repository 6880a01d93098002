package report

import (
	"strings"
	"testing"
)

func TestPage(t *testing.T) {
	p := Page{Title: "a <b>", Summary: "3 files", Findings: []Finding{
		{Kind: Packing, Array: "/x", Files: []string{"/d/<i>.nc"}, Count: 1, Says: "1 of 3 & more", Effect: Reencoded, Option: "--strict"}},
		Arrays: []PageArray{{Path: "/x", Picture: "<svg></svg>"}}}
	var b strings.Builder
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a &lt;b&gt;", "1 of 3 &amp; more", "&lt;i&gt;.nc", "<svg></svg>", `class="re-encoded"`, "--strict"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, foreign := range []string{"http://", "https://", "<script", "src="} {
		if strings.Contains(b.String(), foreign) {
			t.Errorf("the page needs something from elsewhere: %q", foreign)
		}
	}
}
