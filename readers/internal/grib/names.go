package grib

import (
	"encoding/binary"
	"fmt"
	"sync"

	"varve/codec/grib/keys"
	"varve/readers/internal/grib/internal/concepts"
)

// Names holds the names of a parameter in ecCodes. A name that ecCodes does not have is "unknown".
type Names struct {
	ParamID                                       int64
	ShortName, Name, Units, StandardName, VarName string
}

// unknown is the name in ecCodes of anything that it has no name for.
const unknown = "unknown"

// Names returns the names of a field's parameter.
func (f *Field) Names() *Names {
	if f.naming == nil {
		f.naming = f.findNaming()
	}
	return &f.naming.Names
}

// findTypeOfLevel returns the key typeOfLevel of ecCodes, from namings if it is known.
func (f *Field) findTypeOfLevel() string {
	if f.naming == nil {
		f.naming = f.findNaming()
	}
	return f.naming.typeOfLevel
}

// naming is what the lists of names have for a field.
type naming struct {
	Names
	typeOfLevel string
}

// namings keeps what the lists of names have for fields, by their namingKey. A lookup takes 70 µs, and the messages of an archive repeat
// the same parameters and levels.
var namings = struct {
	sync.Mutex
	known map[string]*naming
}{known: map[string]*naming{}}

// maxNamings limits the namings in memory: the key of each has some hundred bytes.
const maxNamings = 1 << 12

func (f *Field) findNaming() *naming {
	key, ok := f.namingKey()
	if ok {
		namings.Lock()
		n := namings.known[string(key)]
		namings.Unlock()
		if n != nil {
			return n
		}
	}
	n := &naming{Names: Names{
		ShortName: f.concept("shortName"), Name: f.concept("name"), Units: f.concept("units"), StandardName: f.concept("cfName"),
	}, typeOfLevel: f.typeOfLevel()}
	fmt.Sscan(f.concept("paramId"), &n.ParamID)
	n.VarName = f.variableName(&n.Names)
	if ok {
		namings.Lock()
		if len(namings.known) >= maxNamings {
			clear(namings.known)
		}
		namings.known[string(key)] = n
		namings.Unlock()
	}
	return n
}

// maxNamingKey bounds the length of the sections of a naming that is kept.
const maxNamingKey = 1 << 10

// timeKeys are the keys of an identification and of a product that differ between the times of a series. No condition of a name has them.
var timeKeys = []string{"year", "month", "day", "hour", "minute", "second", "yearOfCentury", "P1", "P2", "forecastTime", "yearOfEndOfOverallTimeInterval", "monthOfEndOfOverallTimeInterval",
	"dayOfEndOfOverallTimeInterval", "hourOfEndOfOverallTimeInterval", "minuteOfEndOfOverallTimeInterval", "secondOfEndOfOverallTimeInterval", "perturbationNumber"}

// namingKey returns everything on which the names of a field depend: its sections without times, and what conditions of names ask of its
// grid. It returns false if that is too long.
func (f *Field) namingKey() ([]byte, bool) {
	if len(f.identification)+len(f.local)+len(f.product) > maxNamingKey {
		return nil, false
	}
	key := make([]byte, 0, len(f.identification)+len(f.local)+len(f.product)+64)
	key = append(key, byte(f.Edition), byte(f.Discipline))
	add := func(section []byte, of *keys.Values) {
		key = binary.BigEndian.AppendUint32(key, uint32(len(section)))
		at := len(key)
		key = append(key, section...)
		for _, name := range timeKeys {
			if of != nil {
				of.Clear(key[at:], name)
			}
		}
	}
	add(f.identification, &f.ident)
	add(f.local, nil)
	if f.Edition == 2 { // in edition 1, param has keys of the identification
		add(f.product, &f.param)
	}
	if f.Grid != nil {
		key = binary.BigEndian.AppendUint32(append(key, f.Grid.Type...), uint32(f.Grid.Template))
		reference, _ := f.Grid.Int("numberOfGridInReference")
		key = binary.BigEndian.AppendUint64(key, uint64(reference))
	}
	return binary.BigEndian.AppendUint32(key, uint32(f.nv())), true
}

// variableName returns the key cfVarName of ecCodes: a name for netCDF, else the short name if that is a valid variable name, else p and
// the parameter number.
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

// concept returns a name from the first of these lists that has it, as ecCodes does: the lists of the centre and of the WMO, then the lists
// of ECMWF.
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

// lists returns the lists of names for a field of edition 2. Later lists take precedence: the list of a project follows the list of the
// WMO, and the list of a centre precedes it.
func (f *Field) lists(variant string) []concepts.List {
	wmo := concepts.List{Folder: "grib2", Variant: variant}
	if set := f.dataset(); set != "" {
		return []concepts.List{wmo, {Folder: "grib2/localConcepts/" + set, Variant: variant}}
	}
	return []concepts.List{{Folder: "grib2/localConcepts/" + f.Centre(), Variant: variant}, wmo}
}

// Some data sets have their own lists of names.
var (
	// projects has the data sets by productionStatusOfProcessedData.
	projects = map[int64]string{
		4: "tigge", 5: "tigge", 6: "s2s", 7: "s2s", 8: "uerra", 9: "uerra", 10: "uerra", 11: "uerra", 12: "destine", 13: "destine",
		14: "lcgcr", 15: "lcgcr", 16: "wpmip", 17: "wpmip",
	}
	// classes has the data sets by the MARS class.
	classes = map[int64]string{
		50: "cerise", 40: "era6", 35: "hydro_legacy", 38: "hydro_legacy", 42: "hydro", 43: "hydro", 48: "hydro", 49: "hydro", 39: "fire",
		22: "era", 5: "era", 23: "era", 14: "era", 21: "era", 24: "era", 3: "era", 30: "era", 33: "era", 53: "nextgems",
	}
)

// dataset returns the data set whose list of names takes precedence over the list of the centre, or "".
func (f *Field) dataset() string {
	if f.Edition == 1 {
		return ""
	}
	// Of rules with equally many conditions ecCodes takes the last. The rules for classes follow the rules for the production status.
	if class, ok := f.labels.Int("marsClass"); ok && classes[class] != "" {
		return classes[class]
	}
	status, _ := f.ident.Int("productionStatusOfProcessedData")
	return projects[status]
}

// variant returns the suffix of the files of ecCodes with the names: before version 34 of the tables, ECMWF encoded some parameters in
// another way.
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
