package manifest

import "testing"

// TestToSlash checks that ToSlash changes Windows paths and no other names.
func TestToSlash(t *testing.T) {
	for name, want := range map[string]string{
		`C:\data\x.nc`:        "C:/data/x.nc",
		`c:/data\x.nc`:        "c:/data/x.nc",
		`\\server\share\x.nc`: "//server/share/x.nc",
		`/data/a\b.nc`:        `/data/a\b.nc`,
		`s3://bucket/a\b.nc`:  `s3://bucket/a\b.nc`,
		`1:\x.nc`:             `1:\x.nc`,
		`C:`:                  `C:`,
		``:                    ``,
	} {
		if got := ToSlash(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
