package relocate

import "testing"

// TestWindowsNames checks the new names of sources with Windows paths.
func TestWindowsNames(t *testing.T) {
	for _, tt := range []struct {
		from, to, name, want string // an empty want means an error
	}{
		{`C:\a`, `D:\b`, `C:\a\m\x.nc`, `D:\b\m\x.nc`},
		{`C:/a/`, `D:/b/.`, `C:\a\m\x.nc`, `D:\b\m\x.nc`},
		{`c:\A`, `D:\b`, `C:\a\X.nc`, `D:\b\X.nc`},
		{`C:\a`, `D:\b`, `C:\ab\x.nc`, `C:\ab\x.nc`},
		{`C:\`, `D:\b`, `C:\a\x.nc`, `D:\b\a\x.nc`},
		{`C:\a`, `D:\`, `C:\a\x.nc`, `D:\x.nc`},
		{`C:\a\x.nc`, `D:\y.nc`, `C:\a\x.nc`, `D:\y.nc`},
		{`\\server\share`, `D:\b`, `\\server\share\x.nc`, `D:\b\x.nc`},
		{`D:\b`, `//server/share/c`, `D:\b\x.nc`, `\\server\share\c\x.nc`},
		{`file:///C:/a%20b`, `D:\b`, `C:\a b\x.nc`, `D:\b\x.nc`},
		{`C:\a`, `s3://bucket/p`, `C:\a\m\x.nc`, `s3://bucket/p/m/x.nc`},
		{`C:\a`, `https://host/p`, `C:\a\m\x y.nc`, `https://host/p/m/x%20y.nc`},
		{`https://host/p`, `C:\a`, `https://host/p/m/x%20y.nc`, `C:\a\m\x y.nc`},
		{`https://host/p`, `C:\a`, `https://host/p/..%5C..%5Cx.nc`, ``},
		{`https://host/p`, `C:\a`, `https://host/p/x.nc:y`, ``},
		{`/data`, `D:\b`, `/data/m/x.nc`, `D:\b\m\x.nc`}, // built on Unix
		{`/`, `D:\b`, `/data/x.nc`, `D:\b\data\x.nc`},
		{`/data`, `D:\b`, `/Data/x.nc`, `/Data/x.nc`},
	} {
		all, err := newMoves([]Move{{tt.from, tt.to}}, nil)
		if err != nil {
			t.Errorf("%s to %s: %v", tt.from, tt.to, err)
			continue
		}
		got := tt.name
		if m, rest := all.find(tt.name); m != nil {
			_, got, err = m.name(rest)
		}
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s to %s, %s: got %s and %v, want %s", tt.from, tt.to, tt.name, got, err, tt.want)
		}
	}
}
