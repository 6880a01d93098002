package ingest

import (
	"path"
	"path/filepath"
	"strings"
)

// gribEndings lists the usual extensions of GRIB files. Many GRIB files have no extension.
var gribEndings = []string{".grib2", ".grb2", ".grib", ".grb", ".grib1", ".grb1"}

// withoutIndexes removes the index files of GRIB files from the names in a folder or pattern:
// x.grib2.idx if there is x.grib2, and x.idx if there is x with one of gribEndings. The reader of
// GRIB files opens their index files itself.
func withoutIndexes(names []string) []string {
	var known map[string]bool // made for the first index file, because most archives have none
	has := func(name string) bool {
		if known == nil {
			known = make(map[string]bool, len(names))
			for _, name := range names {
				known[name] = true
			}
		}
		return known[name]
	}
	out := names[:0:0]
	for _, name := range names {
		if !isIndexOf(name, has) {
			out = append(out, name)
		}
	}
	return out
}

func isIndexOf(name string, has func(string) bool) bool {
	ending := path.Ext(filepath.ToSlash(name))
	if ending != ".idx" && ending != ".index" {
		return false
	}
	data := strings.TrimSuffix(name, ending)
	if has(data) {
		return true
	}
	for _, e := range gribEndings {
		if has(data + e) {
			return true
		}
	}
	return false
}
