package grib

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"

	"varve/codec/grib"
	"varve/codec/grib/geo"
	"varve/codec/grib/keys"
	"varve/readers/internal/grib/internal/concepts"
)

// Facts returns the keys of a field by the names of ecCodes. Keys that do not apply to the field are left out.
func (f *Field) Facts() map[string]any {
	out := map[string]any{"edition": f.Edition, "centreName": f.Centre()}
	f.identity(out)
	f.gridFacts(out)
	f.levelFacts(out)
	f.timeFacts(out)
	f.ensembleFacts(out)
	f.nameFacts(out)
	if pv := f.vertical(); pv != nil {
		out["pv"] = digest(pv)
	}
	return out
}

// copy adds integer keys that are not missing. A name "a>b" adds key a as b.
func (f *Field) copy(out map[string]any, names ...string) {
	for _, name := range names {
		key, as, _ := strings.Cut(name, ">")
		if as == "" {
			as = key
		}
		if n, ok := f.Int(key); ok && !f.Missing(key) {
			out[as] = n
		}
	}
}

func (f *Field) identity(out map[string]any) {
	f.copy(out, "centre", "subCentre", "generatingProcessIdentifier", "productionStatusOfProcessedData", "typeOfProcessedData", "localDefinitionNumber", "significanceOfReferenceTime")
	if f.Edition == 1 {
		f.copy(out, "table2Version", "indicatorOfParameter")
		out["productionStatusOfProcessedData"] = 0
		out["productDefinitionTemplateNumber"] = f.template1()
		if f.Grid != nil {
			out["gridDefinitionTemplateNumber"], out["dataRepresentationType"] = f.Grid.Equivalent(), f.Grid.Template
		}
		return
	}
	f.copy(out, "discipline", "tablesVersion", "localTablesVersion", "productDefinitionTemplateNumber", "parameterCategory", "parameterNumber")
	if f.template >= 30 && f.template <= 34 {
		out["dataRepresentationType"] = 90 // as ecCodes has it of satellites
	}
	if f.Grid != nil {
		out["gridDefinitionTemplateNumber"] = f.Grid.Template
	}
}

// template1 returns the product template of edition 2 to which ecCodes maps a field of edition 1.
func (f *Field) template1() int {
	point, interval := 0, 8
	kind := f.label("marsType", "type")
	statistical := kind == "em" || kind == "es"
	total, _ := f.extra.Int("numberOfForecastsInEnsemble")
	indicator, _ := f.ident.Int("timeRangeIndicator")
	number, _ := f.localNumber()
	switch {
	case (number == 1 || number == 30 || number == 36) && statistical:
		point, interval = 2, 12
	case (number == 1 || number == 36) && total != 0, number == 30, number == 15, number == 18, number == 218, number == 26:
		point, interval = 1, 11
	case number == 13:
		point = 99
		if stream := f.label("marsStream", "stream"); stream == "ewla" || stream == "waef" {
			point = 100
		}
		interval = point
	case number == 5:
		if point = 5; indicator >= 3 && indicator <= 5 {
			point = 9
		}
		interval = point
	}
	n := point
	if f.StepType() != "instant" {
		n = interval
	}
	if converted := f.conversion(); converted == "accum" || converted == "max" || converted == "min" || converted == "avg" {
		n = map[bool]int{true: 11, false: 8}[n == 1]
	}
	if _, has := f.extra.Int("perturbationNumber"); has && total > 0 && (n == 0 || n == 8) {
		return map[int]int{0: 1, 8: 11}[n]
	}
	return n
}

// conversion returns the step type that ecCodes assigns to the parameter of a field of edition 1, whatever the message says.
func (f *Field) conversion() string {
	name, _ := concepts.Find("stepTypeForConversion", f, concepts.List{Folder: "grib1/localConcepts/" + f.Centre()}, concepts.List{Folder: "grib1"})
	return name
}

// PackingFacts returns the keys that describe the packing of a field.
func (f *Field) PackingFacts(packed *grib.Field, info grib.Info) map[string]any {
	out := map[string]any{
		"packingType": info.Packing, "bitsPerValue": info.BitsPerValue, "referenceValue": info.Reference, "binaryScaleFactor": info.BinaryScale,
		"decimalScaleFactor": info.DecimalScale, "bitmapPresent": flag(packed.Bitmap != nil), "numberOfValues": info.Coded,
	}
	if f.Edition == 1 && info.Packing == "spectral_complex" && len(packed.Section4) > 13 {
		out["N"] = keys.Unsigned(packed.Section4[11:13]) // where the packed data begin
	}
	if f.Edition == 2 {
		out["dataRepresentationTemplateNumber"] = info.Template
		if info.Template == 2 || info.Template == 3 {
			out["missingValueManagementUsed"] = info.Management
		}
	}
	return out
}

// missingDouble is the number that ecCodes returns for a missing floating-point key.
const missingDouble = -1e100

// degrees lists the angles of grid definitions that Facts returns in degrees.
var degrees = []string{
	"latitudeOfFirstGridPoint", "longitudeOfFirstGridPoint", "latitudeOfLastGridPoint", "longitudeOfLastGridPoint", "LaD", "LoV", "Latin1", "Latin2",
	"latitudeOfSouthernPole", "longitudeOfSouthernPole",
}

func (f *Field) gridFacts(out map[string]any) {
	g := f.Grid
	if g == nil {
		return
	}
	out["gridType"], out["numberOfPoints"] = g.Type, g.Points
	for key, n := range map[string]int{"Ni": g.Ni, "Nx": g.Ni, "Nj": g.Nj, "Ny": g.Nj} {
		if n >= 0 {
			out[key] = n
		}
	}
	f.copy(out, "N", "J", "K", "M", "numberOfGridUsed", "shapeOfTheEarth", "Nside>N")
	if f.Edition == 1 {
		if out["shapeOfTheEarth"] = 0; g.Spectral() {
			out["Nj"] = 0
		}
	}
	if g.Scans {
		out["scanningMode"] = g.Scan
		out["iScansNegatively"], out["jScansPositively"] = g.Scan>>7, g.Scan>>6&1
		out["jPointsAreConsecutive"], out["alternativeRowScanning"] = g.Scan>>5&1, g.Scan>>4&1
	}
	for _, key := range degrees {
		if v, ok := g.Degrees(key); ok {
			out[key] = v
		}
	}
	f.projectionFacts(out, g)
	for axis, name := range map[string]string{"i": "iDirectionIncrement", "j": "jDirectionIncrement"} {
		if v, ok := g.Spacing(axis); ok {
			out[name] = v
		} else if flags, has := g.Int("resolutionAndComponentFlags"); f.Edition == 2 && g.Missing(name) && has && flags&map[string]int64{"i": 0x20, "j": 0x10}[axis] != 0 {
			out[name] = missingDouble
		}
	}
	if flags, ok := g.Int("resolutionAndComponentFlags"); ok {
		out["uvRelativeToGrid"] = flags >> 3 & 1
	}
	if p, ok := g.Pole(); ok {
		out["angleOfRotation"] = p.Angle
	}
	if b, ok := g.Bytes("uuidOfHGrid"); ok {
		out["uuidOfHGrid"] = hex.EncodeToString(b)
	}
	if g.Rows != nil {
		pl := make([]float64, len(g.Rows))
		for i, n := range g.Rows {
			pl[i] = float64(n)
		}
		out["pl"] = digest(pl)
	}
}

func (f *Field) projectionFacts(out map[string]any, g *geo.Grid) {
	for axis, names := range map[string][]string{"DxInMetres": {"DxInMetres", "Dx", "xDirectionGridLengthInMillimetres"}, "DyInMetres": {"DyInMetres", "Dy", "yDirectionGridLengthInMillimetres"}} {
		if g.Type == "mercator" {
			names = append(names, strings.NewReplacer("x", "i", "y", "j").Replace(axis), axis[:1]+map[byte]string{'x': "i", 'y': "j"}[axis[1]])
		}
		if v, ok := g.Metres(names...); ok {
			out[axis] = v
		}
	}
	switch g.Type {
	case "polar_stereographic":
		if f.Edition == 1 {
			out["LaD"] = 60.0
		}
	case "lambert", "albers":
		if v, ok := g.Degrees("Latin1"); ok && f.Edition == 1 {
			out["LaD"] = v
		}
	case "mercator":
		if v, ok := g.Degrees("Latin"); ok && f.Edition == 1 {
			out["LaD"] = v
		}
	}
}

func (f *Field) levelFacts(out map[string]any) {
	out["NV"] = f.nv()
	f.copy(out, "typeOfFirstFixedSurface", "scaleFactorOfFirstFixedSurface", "scaledValueOfFirstFixedSurface", "typeOfSecondFixedSurface",
		"scaleFactorOfSecondFixedSurface", "scaledValueOfSecondFixedSurface", "indicatorOfTypeOfLevel")
	for _, key := range []string{"typeOfFirstFixedSurface", "typeOfSecondFixedSurface"} {
		if n, ok := f.Int(key); ok {
			out[key] = n // 255 says that there is none
		}
	}
	if l, ok := f.Level(); ok {
		out["typeOfLevel"], out["level"], out["topLevel"], out["bottomLevel"] = l.Type, l.Value, l.Top, l.Bottom
	}
}

func (f *Field) timeFacts(out map[string]any) {
	_, err := f.Reference()
	out["dataDate"], out["dataTime"] = f.dates()
	out["stepType"] = f.StepType()
	f.copy(out, "typeOfStatisticalProcessing")
	if number, _ := f.localNumber(); f.Edition == 1 && (number == 12 || number == 16) {
		out["typeOfStatisticalProcessing"] = 0 // averages over months
	}
	s, ok := f.Step()
	if !ok {
		if f.Edition == 1 {
			out["stepUnits"] = "h"
		}
		return
	}
	out["stepRange"], out["startStep"], out["endStep"], out["stepUnits"] = s.Range(), s.StartText(), s.EndText(), s.Unit
	switch year, _ := f.ident.Int("yearOfCentury"); {
	case f.Edition == 1 && year == noYear:
		out["validityDate"], out["validityTime"] = out["dataDate"], out["dataTime"]
	case err == nil:
		if when, ok := f.Valid(); ok {
			out["validityDate"], out["validityTime"] = when.Year()*10000+int(when.Month())*100+when.Day(), when.Hour()*100+when.Minute()
		}
	}
}

// dates returns the reference date and time as ecCodes writes them: YYYYMMDD and HHMM. A climatology of edition 1 has no year.
func (f *Field) dates() (date, clock int64) {
	var t [5]int64
	for i, key := range []string{"year", "month", "day", "hour", "minute"} {
		t[i], _ = f.ident.Int(key)
	}
	if f.Edition == 1 {
		if t[4] == 255 {
			t[4] = 0 // missing
		}
		century, _ := f.ident.Int("centuryOfReferenceTimeOfData")
		year, _ := f.ident.Int("yearOfCentury")
		switch t[0] = (century-1)*100 + year; {
		case year == noYear && t[2] == 255 && t[1] >= 1 && t[1] <= 12:
			return t[1], t[3]*100 + t[4]
		case year == noYear && t[1] >= 1 && t[1] <= 12:
			t[0] = 0
		}
	}
	return t[0]*10000 + t[1]*100 + t[2], t[3]*100 + t[4]
}

func (f *Field) ensembleFacts(out map[string]any) {
	f.copy(out, "perturbationNumber>number", "numberOfForecastsInEnsemble", "typeOfEnsembleForecast", "derivedForecast", "probabilityType", "percentileValue")
	for key, table := range map[string]string{"marsClass": "class", "marsStream": "stream", "marsType": "type"} {
		if text := f.label(key, table); text != "" {
			out[key] = text
		}
	}
	if b, ok := f.labels.Bytes("experimentVersionNumber"); ok {
		out["expver"] = string(b)
	}
	if f.Edition == 2 {
		n, _ := f.Int("typeOfProcessedData")
		out["dataType"] = concepts.Code("1.4", n)
	}
	if kind, ok := out["marsType"]; ok {
		out["dataType"] = kind
	}
	if number, _ := f.localNumber(); f.Edition == 1 && number == 1 {
		if total, _ := f.extra.Int("numberOfForecastsInEnsemble"); total != 0 && out["marsType"] != "em" && out["marsType"] != "es" {
			out["typeOfEnsembleForecast"] = 1
		}
	}
	if kind, ok := f.probability1(); ok {
		out["probabilityType"] = kind
	}
	f.projectFacts(out)
}

// projectFacts adds the labels that ecCodes gives to the fields of TIGGE, S2S, UERRA and CARRA.
func (f *Field) projectFacts(out map[string]any) {
	status, ok := f.ident.Int("productionStatusOfProcessedData")
	if !ok || f.Edition == 1 {
		return
	}
	kind, _ := f.ident.Int("typeOfProcessedData")
	switch status {
	case 4, 5, 6, 7:
		out["marsClass"] = map[bool]string{true: "ti", false: "s2"}[status < 6]
		out["expver"] = map[int64]string{0: "prod", 1: "test"}[status%2]
		if name := map[int64]string{2: "fc", 3: "cf", 4: "pf"}[kind]; name != "" {
			out["marsType"] = name
		}
		out["marsStream"] = map[bool]string{true: "oper", false: "enfo"}[kind == 0 || kind == 2]
	case 8, 9, 10, 11:
		out["marsClass"] = map[bool]string{true: "ur", false: "rr"}[status < 10]
		out["expver"] = map[int64]string{0: "prod", 1: "test"}[status%2]
		if name := map[int64]string{0: "an", 1: "fc"}[kind]; name != "" {
			out["marsType"] = name
		}
		out["marsStream"] = map[bool]string{true: "enda", false: "oper"}[f.template == 1 || f.template == 11]
	}
}

func (f *Field) nameFacts(out map[string]any) {
	n := f.Names()
	out["shortName"], out["name"], out["units"], out["cfName"], out["cfVarName"], out["paramId"] = n.ShortName, n.Name, n.Units, n.StandardName, n.VarName, n.ParamID
}

// vertical returns the vertical coordinates of model levels (key pv), or nil.
func (f *Field) vertical() []float64 {
	n := f.nv()
	if n == 0 {
		return nil
	}
	read, b, at := keys.IBM, f.definition, 0
	if f.Edition == 2 {
		if surface, _ := f.param.Int("typeOfFirstFixedSurface"); surface == 150 {
			return nil // here NV is a number of levels, not of vertical coordinates
		}
		read, b, at = ieee, f.product, len(f.product)-4*n
	} else {
		at = f.Grid.VerticalAt(b)
	}
	if at < 0 || at > len(b) || 4*n > len(b)-at {
		return nil
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = read(b[at+4*i:][:4]) + 0 // ecCodes has no negative zero
	}
	return out
}

func ieee(b []byte) float64 { return float64(math.Float32frombits(binary.BigEndian.Uint32(b))) }

// digest describes a list by its length and the hash of its elements as float64.
func digest(list []float64) map[string]any {
	sum := sha256.Sum256(doubles(list))
	return map[string]any{"count": len(list), "sha256": hex.EncodeToString(sum[:])}
}
