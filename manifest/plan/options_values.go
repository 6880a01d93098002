package plan

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Check reports every option whose value is none that there is, whatever the files are. Each
// is an *OptionError. New does so first; who scans files for hours asks before.
func (o *Options) Check() error {
	errs := []error{
		checkChoice("--missing", o.Missing, MissingFill, MissingDrop, MissingRefuse),
		checkChoice("--pad", o.Pad, PadRefuse, PadFill),
		checkChoice("--coords", o.Coords, CoordsEqual, CoordsFirst),
		checkChoice("--overlap", o.Overlap, OverlapRefuse, OverlapFirst, OverlapLast),
		checkGlobs("--vars", o.Vars),
		checkGlobs("--drop", o.Drop),
	}
	if !(o.Tolerance >= 0) { // nor NaN
		errs = append(errs, &OptionError{fmt.Sprintf("--tolerance %v", o.Tolerance), "want a number from 0 on"})
	}
	for i := range o.NewDims {
		errs = append(errs, o.NewDims[i].check())
	}
	for _, s := range o.Broadcast {
		errs = append(errs, checkGlobs("--broadcast", []string{s.Array}))
	}
	for i := range o.Schemas {
		errs = append(errs, o.Schemas[i].check())
	}
	return errors.Join(errs...)
}

// checkChoice reports a word that is none of those that there are, of which the empty one is
// always one.
func checkChoice[T ~string](option string, word T, known ...T) error {
	if slices.Contains(known, word) {
		return nil
	}
	var names []string
	for _, w := range known {
		if w != "" {
			names = append(names, string(w))
		}
	}
	return &OptionError{option + " " + string(word), "want " + strings.Join(names, " or ") + ", or nothing"}
}

func checkGlobs(option string, globs []string) error {
	var errs []error
	for _, glob := range globs {
		if _, err := path.Match(glob, ""); err != nil {
			errs = append(errs, &OptionError{option + " " + glob, "no glob, such as *.nc: " + err.Error()})
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
		return &OptionError{"--new-dim", "the dimension has no name"}
	case ways != 1:
		return &OptionError{"--new-dim " + d.Name, fmt.Sprintf("a pattern, an attribute, a variable or a list of values says where it comes from; there are %d of them", ways)}
	}
	if d.Pattern != "" {
		if _, err := patternOf(d.Pattern); err != nil {
			return &OptionError{"--new-dim " + d.Name, err.Error()}
		}
	}
	return nil
}

func (o *Override) check() error {
	var errs []error
	if o.Type != "" {
		if _, err := typeNamed(o.Type); err != nil {
			errs = append(errs, &OptionError{"--dtype " + o.Array + "=" + o.Type, "there is no such element type; NumPy's names are known, such as float32"})
		}
	}
	for dim, edges := range o.Chunks {
		if len(edges) == 0 || slices.Min(edges) < 1 {
			errs = append(errs, &OptionError{"--chunk-edges " + o.Array + ":" + dim, fmt.Sprintf("%v: want lengths from 1 on, or one", edges)})
		}
	}
	return errors.Join(errs...)
}
