package grib

import (
	"fmt"
	"strings"
	"time"

	"varve/codec/grib/geo"
	"varve/codec/grib/keys"
	"varve/readers/internal/grib/internal/concepts"
)

// Field holds the headers of one field of a message.
type Field struct {
	Offset, Length int64 // of the message
	Index, Count   int   // the index of the field in its message, and the number of fields in the message
	Edition        int
	Discipline     int

	// From and To bound the bytes that decoding needs: the whole message or, if the message has several fields, the sections of this one.
	From, To int64
	// GridOffset and GridLength locate the section with the grid definition.
	GridOffset, GridLength int64

	Grid    *geo.Grid
	GridErr error // why there is no grid
	// PackingErr is the reason why values cannot be decoded, or nil.
	PackingErr error

	identification []byte // section 1
	local          []byte // section 2 of edition 2
	product        []byte // section 4 of edition 2
	definition     []byte // section 2 of edition 1, section 3 of edition 2; fields with equal definitions share it

	ident  keys.Values // section 1
	param  keys.Values // the product; in edition 1 the top and bottom of a layer
	labels keys.Values // ECMWF's MARS labels in the local section
	extra  keys.Values // all other keys of the local section

	template int     // the product definition template of edition 2; -1 in edition 1
	labelsAt int     // the offset of the MARS labels in section 2
	pressure string  // the unit of pressure levels: hPa or Pa
	naming   *naming // nil until it is needed
	summary  *summary

	// These are set if an index file located the message, and its headers were derived from another message.
	reference time.Time
	check     uint32 // see message.Check
	gridCheck uint32 // see message.GridCheck; 0: the grid definition is of a message that was read
}

// read sets the keys of the sections.
func (f *Field) read() {
	f.pressure = "hPa"
	if f.Edition == 1 {
		f.template = -1
		f.ident = keys.Read("1.1", f.identification, 3)
		if f.isLayer() {
			f.param = keys.Read("1.1.layer", f.identification, 3)
		}
		centre, _ := f.ident.Int("centre")
		sub, _ := f.ident.Int("subCentre")
		if len(f.identification) > 40 && (centre == ecmwf || sub == ecmwf) {
			name := fmt.Sprintf("1.1.98.%d", f.identification[40])
			f.extra, f.labels = keys.Read(name, f.identification, 41), keys.Read("1.mars_labeling", f.identification, 41)
			if !keys.Known(name) {
				f.labels = keys.Values{}
			}
		}
		return
	}
	f.ident = keys.Read("2.1", f.identification, 5)
	if len(f.product) >= 9 {
		f.template = int(keys.Unsigned(f.product[7:9]))
		f.param = keys.Read(f.productLayout(), f.product, 9)
	}
	f.project()
	if at := f.localAt(); at > 0 && f.centreForLocal() == ecmwf {
		f.labels = keys.Read("2.98", f.local, at)
		if n, ok := f.labels.Int("grib2LocalSectionNumber"); ok && n != 0 {
			if more := keys.Read(fmt.Sprintf("2.98.%d", n), f.local, f.labels.End()); more.End() > 0 {
				f.extra = more
			}
		} else {
			f.labels = keys.Values{}
		}
	}
	f.level() // sets f.pressure
}

// ecmwf is the number of ECMWF, the European Centre for Medium-Range Weather Forecasts, in the code table of centres.
const ecmwf = 98

// nv returns the number of vertical coordinates (key NV).
func (f *Field) nv() int {
	switch {
	case f.Edition == 2 && len(f.product) >= 7:
		return int(keys.Unsigned(f.product[5:7]))
	case f.Edition == 1 && len(f.definition) > 3:
		return int(f.definition[3])
	}
	return 0
}

// productLayout returns the name of the layout of section 4, see package keys.
func (f *Field) productLayout() string {
	name := fmt.Sprintf("4.%d", f.template)
	switch {
	case f.template == 44 && len(f.product)-4*f.nv() == 45:
		return "4.44.wmo"
	case f.template >= 32768:
		return "ecmf/template." + name
	}
	return name
}

// localProjects has the projects whose messages begin section 2 with keys of the project, by productionStatusOfProcessedData.
var localProjects = map[int64]string{
	4: "tigge", 5: "tigge", 8: "uerra", 9: "uerra", 10: "crra", 11: "crra", 12: "destine", 13: "destine", 14: "lcgcr", 15: "lcgcr", 16: "wpmip", 17: "wpmip",
}

// digitalTwins has the datasets of Destination Earth with a known layout.
var digitalTwins = map[int64]string{1: "climate-dt", 4: "on-demand-extremes-dt"}

// project reads the keys of a project at the beginning of section 2, and sets labelsAt to the offset after them, or to 0 if that is unknown.
func (f *Field) project() {
	status, _ := f.ident.Int("productionStatusOfProcessedData")
	name := localProjects[status]
	f.labelsAt = 5
	if name == "" || len(f.local) < 7 {
		return
	}
	version := keys.Unsigned(f.local[5:7])
	layout := fmt.Sprintf("2.%s.%d", name, version)
	f.extra = keys.Read(layout, f.local, 7)
	f.labelsAt = 0
	switch twin, _ := f.extra.Int("dataset"); {
	case name == "destine" && digitalTwins[twin] != "":
		f.extra = keys.Read("2.destine."+digitalTwins[twin], f.local, 9)
		f.labelsAt = f.extra.End()
	case name == "destine":
		f.labelsAt = 9
	case keys.Known(layout):
		f.labelsAt = f.extra.End()
	}
}

// localAt returns the offset of the MARS labels in section 2, or 0 if there are none.
func (f *Field) localAt() int {
	if len(f.local) <= 5 || f.labelsAt+2 > len(f.local) {
		return 0
	}
	return f.labelsAt
}

// centreForLocal returns the centre that defines the local section: ECMWF if it is the subcentre.
func (f *Field) centreForLocal() int64 {
	if sub, _ := f.ident.Int("subCentre"); sub == ecmwf {
		return ecmwf
	}
	centre, _ := f.ident.Int("centre")
	return centre
}

// Int returns a key of any section as an integer, and whether the field has it.
func (f *Field) Int(key string) (int64, bool) {
	if n, ok := f.computed(key); ok {
		return n, true
	}
	for _, v := range []*keys.Values{&f.param, &f.ident, &f.labels, &f.extra} {
		if n, ok := v.Int(key); ok {
			return n, true
		}
	}
	if f.Grid != nil {
		return f.Grid.Int(key)
	}
	return 0, false
}

// IntAt returns the nth integer of a key that the product repeats.
func (f *Field) IntAt(key string, nth int) (int64, bool) { return f.param.IntAt(key, nth) }

// Missing reports whether the field has a key and the key is missing: all its bits are set.
func (f *Field) Missing(key string) bool {
	for _, v := range []*keys.Values{&f.param, &f.ident, &f.labels, &f.extra} {
		if v.Has(key) {
			return v.Missing(key)
		}
	}
	return f.Grid != nil && f.Grid.Missing(key)
}

// computed returns a key that ecCodes computes from other keys.
func (f *Field) computed(key string) (int64, bool) {
	switch key {
	case "discipline":
		return int64(f.Discipline), f.Edition == 2
	case "true", "dummy":
		return 1, true
	case "productDefinitionTemplateNumber":
		return int64(f.template), f.Edition == 2
	case "gridDefinitionTemplateNumber":
		if f.Grid != nil {
			return int64(f.Grid.Template), f.Edition == 2
		}
	case "level":
		if f.Edition == 2 {
			l, ok := f.level()
			return int64(l.Value + 0.5), ok
		}
		if f.isLayer() {
			return 0, false
		}
	case "topLevel", "bottomLevel":
		if f.Edition == 1 && !f.isLayer() {
			return f.ident.Int("level")
		}
	case "NV":
		return int64(f.nv()), true
	case "genVertHeightCoords":
		n, _ := f.param.Int("typeOfFirstFixedSurface")
		return flag(n == 150), f.Edition == 2
	case "generatingProcessIdentifier":
		return f.param.Int("observationGeneratingProcessIdentifier") // satellite products have it under this name
	case "gribTablesVersionNo":
		return f.ident.Int("table2Version")
	case "localDefinitionNumber":
		return f.localNumber()
	}
	if templates, ok := families[key]; ok {
		return flag(strings.Contains(templates, fmt.Sprintf(" %d ", f.template))), f.Edition == 2
	}
	return 0, false
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// families has keys of ecCodes that are true for some product templates.
var families = map[string]string{
	"is_chemical":         " 40 41 42 43 ",
	"is_chemical_srcsink": " 76 77 78 79 ",
	"is_chemical_distfn":  " 57 58 67 68 ",
	"is_aerosol":          " 44 45 46 47 48 49 50 85 ",
	"is_aerosol_optical":  " 48 49 ",
}

// localNumber returns the number of ECMWF's local definition.
func (f *Field) localNumber() (int64, bool) {
	if f.Edition == 2 {
		return f.labels.Int("grib2LocalSectionNumber")
	}
	if centre, _ := f.ident.Int("centre"); len(f.identification) > 40 && (centre == ecmwf || f.centreForLocal() == ecmwf) {
		return int64(f.identification[40]), true
	}
	return 0, false
}

// Text returns a key as text, and whether the field has it.
func (f *Field) Text(key string) (string, bool) {
	switch key {
	case "pressureUnits":
		return f.pressure, true
	case "stepType":
		return f.StepType(), true
	case "datasetForLocal":
		return f.dataset(), true
	case "marsClass":
		return f.label("marsClass", "class"), f.labels.Has("marsClass")
	}
	return "", false
}

// code returns the abbreviation of a key in a code table, or "" if the field does not have the key.
func (f *Field) code(key, table string) string {
	n, ok := f.Int(key)
	if !ok {
		return ""
	}
	return concepts.Code(table, n)
}

// label returns a MARS label in lower case, or "" if the field does not have it.
func (f *Field) label(key, table string) string {
	if !f.labels.Has(key) {
		return ""
	}
	return strings.ToLower(f.code(key, table))
}

// Centre returns the abbreviation of the originating centre: ecmf, kwbc.
func (f *Field) Centre() string {
	if f.Edition == 1 {
		return f.code("centre", "c-1")
	}
	return f.code("centre", "c-11")
}
