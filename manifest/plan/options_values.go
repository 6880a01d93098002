package plan

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"varve/manifest/internal/namepattern"
	"varve/manifest/report"
	"varve/zarrjson"
)

// Check returns the errors of all options that are invalid for any files, each as an *OptionError.
// A plan begins with it. Call it before a long scan.
func (o *Options) Check() error {
	errs := []error{
		checkChoice(report.Missing, o.Missing, AbsentFill, AbsentDrop, AbsentRefuse),
		checkChoice(report.Pad, o.Pad, PadRefuse, PadFill),
		checkChoice(report.Coords, o.Coords, CoordsEqual, CoordsFirst),
		checkChoice(report.Units, o.Units, UnitsRefuse, UnitsConvert, UnitsFirst, UnitsDrop),
		o.checkFormats(),
		checkChoice(report.Longitudes, o.Longitudes, AnyLongitudes, From0To360, Around0),
		checkChoice(report.Overlap, o.Overlap, OverlapRefuse, OverlapFirst, OverlapLast),
		checkGlobs(report.Vars, o.Vars),
		checkGlobs(report.Drop, o.Drop),
	}
	if !(o.Tolerance >= 0) || math.IsInf(o.Tolerance, 1) { // NaN fails the comparison; JSON has no infinity
		errs = append(errs, optionError(report.Tolerance, fmt.Sprint(o.Tolerance), "want a finite number, 0 or more"))
	}
	for _, dim := range slices.Sorted(maps.Keys(o.Join)) {
		errs = append(errs, checkChoice(report.JoinLabels, o.Join[dim], "", JoinExact, JoinInner, JoinOuter))
	}
	for _, dim := range slices.Sorted(maps.Keys(o.Flip)) {
		errs = append(errs, checkChoice(report.Flip, o.Flip[dim], UsualDirection, Increasing, Decreasing))
	}
	for i := range o.NewDims {
		errs = append(errs, o.NewDims[i].check())
	}
	for _, s := range o.Broadcast {
		errs = append(errs, checkGlobs(report.Broadcast, []string{s.Array}))
	}
	for i := range o.Schemas {
		errs = append(errs, o.Schemas[i].check())
	}
	for _, r := range o.Repack {
		errs = append(errs, checkGlobs(report.Repack, []string{r.Array}))
		if r.Scale == 0 || math.IsNaN(r.Scale) || math.IsInf(r.Scale, 0) {
			errs = append(errs, optionError(report.Repack, r.String(), "want a scale_factor other than 0"))
		}
	}
	errs = append(errs, checkGlobs(report.RepackLoss, o.RepackLossy), o.Curation.check())
	return errors.Join(errs...)
}

// checkChoice returns an error for a word that is not known. The empty word is always known.
func checkChoice[T ~string](option report.Option, word T, known ...T) error {
	if slices.Contains(known, word) {
		return nil
	}
	var names []string
	for _, w := range known {
		if w != "" {
			names = append(names, string(w))
		}
	}
	return optionError(option, string(word), "want "+strings.Join(names, " or ")+", or nothing")
}

func checkGlobs(option report.Option, globs []string) error {
	var errs []error
	for _, glob := range globs {
		if _, err := path.Match(glob, ""); err != nil {
			errs = append(errs, optionError(option, glob, "want a glob, such as *.nc: "+err.Error()))
		}
	}
	return errors.Join(errs...)
}

func (d *NewDim) check() error {
	ways := 0
	for _, is := range []bool{d.Pattern != "", d.Attribute != "", d.Variable != "", d.Values != nil} {
		if is {
			ways++
		}
	}
	switch {
	case d.Name == "":
		return optionError(report.NewDim, "", "the dimension has no name")
	case ways != 1:
		return optionError(report.NewDim, d.Name, fmt.Sprintf("want one of a pattern, an attribute, a variable and a list of values, got %d of them", ways))
	}
	if d.Pattern != "" {
		if _, err := namepattern.Compile(d.Pattern); err != nil {
			return optionError(report.NewDim, d.Name, err.Error())
		}
	}
	return nil
}

func (o *Override) check() error {
	var errs []error
	if o.Type != "" {
		if _, err := zarrjson.ParseDataType([]byte(`"` + o.Type + `"`)); err != nil {
			errs = append(errs, optionError(report.DataType, o.Array+"="+o.Type, "want a data type by its NumPy name, such as float32"))
		}
	}
	for dim, edges := range o.Chunks {
		if len(edges) == 0 || slices.Min(edges) < 1 {
			errs = append(errs, optionError(report.ChunkEdges, o.Array+":"+dim, fmt.Sprintf("want chunk lengths of 1 or more, got %v", edges)))
		}
	}
	return errors.Join(errs...)
}

// optionError returns the error for an option and its value.
func optionError(option report.Option, value, says string) *OptionError {
	return &OptionError{Setting: report.Setting{Option: option, Value: value}, Says: says}
}
