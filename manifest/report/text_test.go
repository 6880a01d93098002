package report

import (
	"fmt"
	"strings"
	"testing"
)

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 12: "12", 999: "999", 1000: "1,000", 12345: "12,345",
		1234567: "1,234,567", -5: "-5", -999: "-999", -1000: "-1,000", -123456: "-123,456"} {
		if got := Thousands(n); got != want {
			t.Errorf("Thousands(%d) = %q, not %q", n, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB",
		1 << 20: "1.0 MiB", 1<<20 - 1: "1.0 MiB", 5 << 40: "5.0 TiB"} {
		if got := Size(n); got != want {
			t.Errorf("Size(%d) = %q, not %q", n, got, want)
		}
	}
}

func TestText(t *testing.T) {
	r := Report{}
	r.Add(Finding{Kind: Packing, Array: "/sst", Files: []string{"/a/x.nc", "/a/y.nc"}, Count: 417, Of: 12000,
		Says: "417 of 12,000 files have scale_factor 0.005 instead of 0.01", Effect: Reencoded, Option: "--strict"})
	r.Add(Finding{Kind: Coordinate, Files: []string{"https://h/b/odd.nc"}, Count: 1, Says: "lat differs", Effect: Refused})
	var b strings.Builder
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	want := `refused    coordinate  lat differs
                       odd.nc
re-encoded  packing     /sst: 417 of 12,000 files have scale_factor 0.005 instead of 0.01
                       x.nc … y.nc (417 files)
                       option: --strict
`
	if b.String() != want {
		t.Errorf("got\n%s\nnot\n%s", b.String(), want)
	}
}

// TestManyBroken: of many files that cannot be read people are shown some with their reasons, and how
// many more there are.
func TestManyBroken(t *testing.T) {
	for _, n := range []int{0, 1, mostBroken, mostBroken + 1, 100 * mostBroken} {
		r := Report{Findings: []Finding{{Kind: Width}}}
		for i := range n {
			r.Add(Finding{Kind: Broken, Files: []string{fmt.Sprintf("/%d.nc", i)}, Count: 1, Says: "ends early"})
		}
		few, count := fewBroken(r.Findings), int64(0)
		for _, f := range few[1:] {
			count += f.Count
		}
		if len(few) > mostBroken+2 || count != int64(n) || len(r.Findings) != n+1 {
			t.Errorf("%d findings of %d files for %d", len(few), count, n)
		}
		var text strings.Builder
		if err := r.Text(&text); err != nil {
			t.Fatal(err)
		}
		more := Thousands(int64(n)-mostBroken) + " more cannot be read, the first of them: ends early"
		if strings.Contains(text.String(), more) != (n > mostBroken+1) {
			t.Errorf("%d: %s", n, text.String())
		}
	}
}
