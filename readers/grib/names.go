package grib

import (
	"fmt"

	"varve/readers/grib/internal/concepts"
)

// Names are what ecCodes calls a parameter. Those that it does not know are "unknown".
type Names struct {
	ParamID                                       int64
	ShortName, Name, Units, StandardName, VarName string
}

// unknown is what ecCodes calls what it has no name for.
const unknown = "unknown"

// Names returns the names of a field's parameter.
func (f *Field) Names() *Names {
	if f.names != nil {
		return f.names
	}
	n := &Names{
		ShortName: f.concept("shortName"), Name: f.concept("name"), Units: f.concept("units"), StandardName: f.concept("cfName"),
	}
	fmt.Sscan(f.concept("paramId"), &n.ParamID)
	n.VarName = f.variableName(n)
	f.names = n
	return n
}

// variableName is the name that ecCodes has for netCDF: the short name, unless there is a name for that, or it would be none.
func (f *Field) variableName(n *Names) string {
	if f.Edition == 1 {
		for _, folder := range []string{"grib1/localConcepts/" + f.Centre(), "grib1/localConcepts/ecmf"} {
			if name, ok := concepts.Find("cfVarName", f, concepts.List{Folder: folder}, concepts.List{Folder: "grib1"}); ok {
				return name
			}
		}
	} else if name, ok := concepts.Find("cfVarName", f, f.lists("")...); ok {
		return name
	}
	if s := n.ShortName; s == "~" || s[0] >= '0' && s[0] <= '9' {
		return fmt.Sprintf("p%d", n.ParamID)
	}
	return n.ShortName
}

// concept returns the name that the lists have which ecCodes asks in turn: of the centre and the WMO, then of ECMWF.
func (f *Field) concept(name string) string {
	if f.Edition == 1 {
		for _, folder := range []string{"grib1/localConcepts/" + f.Centre(), "grib1/localConcepts/ecmf"} {
			if found, ok := concepts.Find(name, f, concepts.List{Folder: folder}, concepts.List{Folder: "grib1"}); ok {
				return found
			}
		}
		return unknown
	}
	variant := f.variant()
	if name == "cfName" {
		variant = ""
	}
	ecmwf := func(v string) []concepts.List {
		return []concepts.List{{Folder: "grib2/localConcepts/ecmf", Variant: v}, {Folder: "grib2", Variant: v}}
	}
	for _, lists := range [][]concepts.List{f.lists(variant), ecmwf(variant), ecmwf(".legacy")} {
		if found, ok := concepts.Find(name, f, lists...); ok {
			return found
		}
	}
	return unknown
}

// lists are the lists of names for a field of edition 2, those that count more behind the others. A project's own come behind the
// WMO's, a centre's in front of it.
func (f *Field) lists(variant string) []concepts.List {
	wmo := concepts.List{Folder: "grib2", Variant: variant}
	if set := f.dataset(); set != "" {
		return []concepts.List{wmo, {Folder: "grib2/localConcepts/" + set, Variant: variant}}
	}
	return []concepts.List{{Folder: "grib2/localConcepts/" + f.Centre(), Variant: variant}, wmo}
}

// projects are the data sets that have names of their own, by the status of production and by the class of MARS.
var (
	projects = map[int64]string{
		4: "tigge", 5: "tigge", 6: "s2s", 7: "s2s", 8: "uerra", 9: "uerra", 10: "uerra", 11: "uerra", 12: "destine", 13: "destine",
		14: "lcgcr", 15: "lcgcr", 16: "wpmip", 17: "wpmip",
	}
	classes = map[int64]string{
		50: "cerise", 40: "era6", 35: "hydro_legacy", 38: "hydro_legacy", 42: "hydro", 43: "hydro", 48: "hydro", 49: "hydro", 39: "fire",
		22: "era", 5: "era", 23: "era", 14: "era", 21: "era", 24: "era", 3: "era", 30: "era", 33: "era", 53: "nextgems",
	}
)

// dataset is the data set whose names count more than the centre's, or empty.
func (f *Field) dataset() string {
	if f.Edition == 1 {
		return ""
	}
	// Of conditions of as many keys ecCodes takes the last, so that classes come behind what the status of production says.
	if class, ok := f.labels.Int("marsClass"); ok && classes[class] != "" {
		return classes[class]
	}
	status, _ := f.ident.Int("productionStatusOfProcessedData")
	return projects[status]
}

// variant says which of ecCodes' files have the names: before version 34 of the tables ECMWF coded some parameters in another way.
func (f *Field) variant() string {
	lists := f.lists("")
	sw, ok := concepts.Find("MTG2SwitchConcept", f, lists...)
	if !ok {
		sw = "1"
		if by, _ := concepts.Find("MTG2SwitchViaTablesVersionConcept", f, lists...); by == "1" {
			version, _ := f.ident.Int("tablesVersion")
			switch class := f.label("marsClass", "class"); {
			case version <= 33:
				sw = "0"
			case class == "a5" || class == "cr" || class == "mc" || class == "gg":
				sw = "2"
			}
		}
	}
	return map[string]string{"0": ".lte33", "2": ".chemsplit"}[sw]
}
