package grib

import (
	"fmt"
	"strings"

	"varve/codec/grib/geo"
	"varve/codec/grib/keys"
	"varve/readers/grib/internal/concepts"
)

// Field is one field of a message: what is in the headers of its sections.
type Field struct {
	Offset, Length int64 // of the message
	Index, Count   int   // of the field within its message, and how many that has
	Edition        int
	Discipline     int

	// From and To are the bytes that decoding needs: the whole message, or in one of several fields its sections.
	From, To int64
	// GridOffset and GridLength are the section with the grid definition.
	GridOffset, GridLength int64

	Grid    *geo.Grid
	GridErr error // why there is no grid
	// PackingErr says why values cannot be decoded.
	PackingErr error

	// The sections but for the values, by their numbers.
	identification, local, product []byte
	definition                     []byte // of the grid, shared by fields that have the same
	ident, labels, extra, param    keys.Values
	template                       int // of the product
	labelsAt                       int // in the local section
	pressure                       string
	names                          *Names
}

// read finds the keys of the sections.
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
	f.level() // which finds the unit of pressures
}

// ecmwf is the number of the European Centre.
const ecmwf = 98

// nv is where edition 2 has the number of vertical coordinates.
func (f *Field) nv() int {
	switch {
	case f.Edition == 2 && len(f.product) >= 7:
		return int(keys.Unsigned(f.product[5:7]))
	case f.Edition == 1 && len(f.definition) > 3:
		return int(f.definition[3])
	}
	return 0
}

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

// localProjects are the projects that have a part of their own at the beginning of section 2, by the status of production.
var localProjects = map[int64]string{
	4: "tigge", 5: "tigge", 8: "uerra", 9: "uerra", 10: "crra", 11: "crra", 12: "destine", 13: "destine", 14: "lcgcr", 15: "lcgcr", 16: "wpmip", 17: "wpmip",
}

// digitalTwins are the datasets of Destination Earth whose layout is known.
var digitalTwins = map[int64]string{1: "climate-dt", 4: "on-demand-extremes-dt"}

// project reads the part of section 2 that is of a project, and finds what is behind it.
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
	case name != "destine" && keys.Known(layout):
		f.labelsAt = f.extra.End()
	}
}

// localAt is where the labels begin in the local section, or 0 if there are none.
func (f *Field) localAt() int {
	if len(f.local) <= 5 || f.labelsAt+2 > len(f.local) {
		return 0
	}
	return f.labelsAt
}

func (f *Field) centreForLocal() int64 {
	if sub, _ := f.ident.Int("subCentre"); sub == ecmwf {
		return ecmwf
	}
	centre, _ := f.ident.Int("centre")
	return centre
}

// Int returns a key as an integer, whatever section it is in.
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

// IntAt returns the nth integer of a list of the product.
func (f *Field) IntAt(key string, nth int) (int64, bool) { return f.param.IntAt(key, nth) }

// Missing reports whether a key is there, with all bits set.
func (f *Field) Missing(key string) bool {
	for _, v := range []*keys.Values{&f.param, &f.ident, &f.labels, &f.extra} {
		if v.Has(key) {
			return v.Missing(key)
		}
	}
	return f.Grid != nil && f.Grid.Missing(key)
}

// computed are keys that ecCodes makes of others.
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
		return f.param.Int("observationGeneratingProcessIdentifier") // if it is of satellites
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

// families are the product templates that ecCodes has a key for.
var families = map[string]string{
	"is_chemical":         " 40 41 42 43 ",
	"is_chemical_srcsink": " 76 77 78 79 ",
	"is_chemical_distfn":  " 57 58 67 68 ",
	"is_aerosol":          " 44 45 46 47 48 49 50 85 ",
	"is_aerosol_optical":  " 48 49 ",
}

func (f *Field) localNumber() (int64, bool) {
	if f.Edition == 2 {
		return f.labels.Int("grib2LocalSectionNumber")
	}
	if centre, _ := f.ident.Int("centre"); len(f.identification) > 40 && (centre == ecmwf || f.centreForLocal() == ecmwf) {
		return int64(f.identification[40]), true
	}
	return 0, false
}

// Text returns a key as a text.
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

// code returns a key by its code table.
func (f *Field) code(key, table string) string {
	n, ok := f.Int(key)
	if !ok {
		return ""
	}
	return concepts.Code(table, n)
}

func (f *Field) label(key, table string) string {
	if !f.labels.Has(key) {
		return ""
	}
	return strings.ToLower(f.code(key, table))
}

// Centre is the originating centre as a text: ecmf, kwbc.
func (f *Field) Centre() string {
	if f.Edition == 1 {
		return f.code("centre", "c-1")
	}
	return f.code("centre", "c-11")
}
