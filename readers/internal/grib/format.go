package grib

import (
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"varve/readers"
)

// The names of the options.
const (
	namesOption    = "names"
	timesOption    = "grib-times"
	indexOption    = "grib-index"
	templateOption = "grib-template"
)

// Info describes the format.
func Info() readers.Format {
	return readers.Format{
		Name:     "GRIB",
		Detect:   Format{}.Detect,
		Suffixes: []string{".grib2", ".grb2", ".grib", ".grb", ".grib1", ".grb1"},
		Sidecar:  indexedBy,
		Options: []readers.Option{
			{Name: namesOption, Words: []string{string(CFNames), string(EcCodesNames), string(Wgrib2Names)}, Scope: readers.ForManifest, Key: "Names",
				Help: "name variables of GRIB files as `cf` (t2m), eccodes (2t) or wgrib2 (TMP) do"},
			{Name: timesOption, Words: []string{string(ReferenceTimes), string(ValidTimes)}, Scope: readers.ForManifest, Key: "GRIBTimes",
				Help: "place fields of GRIB files by `reference` time and step, or by valid time"},
			{Name: indexOption, Words: []string{string(IndexAuto), string(IndexIgnore), string(IndexRequire)},
				Help: "use index files beside GRIB files (.idx, .index): `auto`, ignore or require"},
			{Name: templateOption, Kind: readers.OptionFiles,
				Help: "take message headers from this GRIB `file`: only index files are read of all others"},
		},
		New: func(c *readers.Config) readers.Reader {
			f := Format{Names: NameScheme(c.Settings.Word(namesOption)), Times: Times(c.Settings.Word(timesOption))}
			if c.Opener != nil && !c.NoSidecars {
				f.Indexes = NewIndexReader(IndexOptions{Use: IndexUse(c.Settings.Word(indexOption)), Templates: c.Settings.Files(templateOption), Open: c.Opener.Open})
			}
			return f
		},
	}
}

// cfgribHash matches the end of the names of cfgrib's index files without .idx: a hash of its options.
var cfgribHash = regexp.MustCompile(`\.[0-9a-f]{5}$`)

// indexedBy returns the names of the files that an index file may describe: x.grib2 and x for x.grib2.idx or x.idx, and x.grib for
// x.grib.5b7b6.idx of cfgrib. The reader opens the index files itself that it understands.
func indexedBy(name string) (data []string) {
	ending := path.Ext(filepath.ToSlash(name))
	if ending != ".idx" && ending != ".index" {
		return nil
	}
	data = append(data, strings.TrimSuffix(name, ending))
	if stem := data[0]; ending == ".idx" && cfgribHash.MatchString(stem) {
		data = append(data, cfgribHash.ReplaceAllString(stem, ""))
	}
	return data
}
