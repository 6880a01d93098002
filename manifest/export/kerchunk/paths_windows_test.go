package kerchunk

import "testing"

// TestWindowsClientPath checks that fsspec gets paths with slashes, and two leading slashes for network
// shares.
func TestWindowsClientPath(t *testing.T) {
	for url, want := range map[string]string{
		`C:\data\a b#.nc`:       "C:/data/a b#.nc",
		`c:/data\x.nc`:          "c:/data/x.nc",
		`\\server\share\x.nc`:   "//server/share/x.nc",
		"file:///C:/data/x.nc":  "C:/data/x.nc",
		"s3://bucket/a b.nc":    "s3://bucket/a b.nc",
		"https://host/a%20b.nc": "https://host/a%20b.nc",
	} {
		got, err := clientPath(url)
		if err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", url, got, err, want)
		}
		if isLocal(got) != (got[1] == ':' || got[1] == '/') {
			t.Errorf("%s: local %v", got, isLocal(got))
		}
	}
}
