package icechunk

import (
	"errors"
	"testing"
)

func TestWindowsLocations(t *testing.T) {
	for name, want := range map[string]string{
		`C:\data\a b#.nc`:           "file:///C:/data/a%20b%23.nc",
		`D:\x.nc`:                   "file:///D:/x.nc",
		"file:///C:/data/%C3%A9.nc": "file:///C:/data/%C3%A9.nc",
		`\\server\share\x.nc`:       "",
		`x.nc`:                      "",
		`C:x.nc`:                    "",
	} {
		got, err := location(name)
		if got != want || errors.Is(err, errors.ErrUnsupported) != (want == "") {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, want)
		}
	}
	var r reach
	r.add("file:///C:/data/m/1.nc")
	r.add("file:///C:/data/n/1.nc")
	r.add("file:///D:/1.nc")
	list := r.list()
	if len(list) != 2 || list[0] != "file:///C:/data/" || list[1] != "file:///D:/" {
		t.Errorf("readers are to allow %q", list)
	}
	store := container(list[0], S3{})["store"].(map[string]any)
	if got := store["local_file_system"]; got != "C:/data/" {
		t.Errorf("the folder is %v", got)
	}
}
