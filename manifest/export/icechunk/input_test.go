package icechunk

import "testing"

func TestCheckPaths(t *testing.T) {
	for path, ok := range map[string]bool{
		"/a": true, "/g/a": true, "/zarr.json.nc": true, "/g/zarr": true,
		"/zarr.json": false, "/zarr.json/a": false, "/g/zarr.json": false, "/..": false, "/g//a": false, "a": false, "/": false,
	} {
		if err := checkPaths([]target{{path: path, array: &inputArray{}}}); (err == nil) != ok {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := checkPaths([]target{{path: "/a"}, {path: "/a", array: &inputArray{}}}); err == nil {
		t.Error("an array and a group of one name")
	}
}
