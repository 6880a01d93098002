package report

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Join merges findings that differ only in their array, and in settings that name it. It keeps the order. The remedies of
// merged findings have the settings of all arrays. Refusals of StaticDiffers need only the same best remedy: they may also differ in
// their files, which a merged finding lists by array (Odd), and in other remedies. Of those, the remedies that all have remain, and separate
// manifests, which are a way out for all.
func Join(findings []Finding) []Finding {
	var out []Finding
	at := map[string]int{}
	merged := map[string][]Finding{}
	for _, f := range findings {
		key := f.joinKey()
		if i, ok := at[key]; ok {
			if f.Code == StaticDiffers {
				out[i].Remedies, f.Remedies = commonRemedies(out[i].Remedies, f.Remedies)
			}
			out[i].addRemedies(f.Remedies)
		} else {
			at[key] = len(out)
			out = append(out, f)
		}
		merged[key] = append(merged[key], f)
	}
	for key, i := range at {
		if paths := arraysOf(merged[key]); len(paths) > 1 {
			out[i].Array, out[i].Arrays = "", paths
			out[i].joinFiles(merged[key])
		}
	}
	return out
}

// arraysOf returns the arrays of findings about one array each.
func arraysOf(findings []Finding) (paths []string) {
	for _, f := range findings {
		if f.Array != "" {
			paths = append(paths, f.Array)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// joinFiles gives a merged finding the files of all findings, if these have other files.
func (f *Finding) joinFiles(of []Finding) {
	var odd []Odd
	for _, g := range of {
		i := slices.IndexFunc(odd, func(o Odd) bool { return slices.Equal(o.Files.ranges, g.Files.ranges) })
		if i < 0 {
			i, odd = len(odd), append(odd, Odd{Files: g.Files})
		}
		odd[i].Arrays = append(odd[i].Arrays, g.Array)
	}
	if len(odd) < 2 {
		return
	}
	for _, o := range odd {
		slices.Sort(o.Arrays)
		f.Files = f.Files.Union(o.Files)
	}
	slices.SortFunc(odd, func(a, b Odd) int { return strings.Compare(a.Arrays[0], b.Arrays[0]) })
	f.Count, f.Args = f.Files.Len(), maps.Clone(f.Args)
	delete(f.Args, "others")
	f.Args["odd"] = odd
}

// hasAnyFiles reports whether findings may be merged that have other files.
func (f *Finding) hasAnyFiles() bool { return f.Code == StaticDiffers && f.Effect == Refused }

// joinKey returns a key that is equal for findings that differ only in their array, and in settings that name it.
func (f Finding) joinKey() string {
	ranges := f.Files.ranges
	if f.Array != "" {
		remedies := make([]Remedy, len(f.Remedies))
		for i, r := range f.Remedies {
			r.Setting = r.Setting.ofAny(f.Array)
			r.With = slices.Clone(r.With)
			for k := range r.With {
				r.With[k] = r.With[k].ofAny(f.Array)
			}
			remedies[i] = r
		}
		if f.Remedies = remedies; f.Code == StaticDiffers {
			f.Remedies = remedies[:min(1, len(remedies))]
		}
	}
	if f.hasAnyFiles() {
		ranges, f.Count, f.Args = nil, 0, maps.Clone(f.Args)
		delete(f.Args, "others")
	}
	// Ranges are much shorter than the names of a million files.
	f.Array, f.Files = "", Files{}
	key, err := json.Marshal(struct {
		Finding
		Ranges []Range
	}{f, ranges})
	if err != nil {
		panic(err) // Args has only types that JSON can represent
	}
	return string(key)
}

// commonRemedies returns the remedies of two lists that set the same option with the same consequence, in the order of the first.
func commonRemedies(a, b []Remedy) (ofA, ofB []Remedy) {
	for _, r := range a {
		at := slices.IndexFunc(b, func(s Remedy) bool { return s.Option == r.Option && s.Consequence == r.Consequence })
		if at >= 0 {
			ofA, ofB = append(ofA, r), append(ofB, b[at])
		}
	}
	apart := Do(Separate, "", "")
	if isApart := func(r Remedy) bool { return r.Option == Separate }; !slices.ContainsFunc(ofA, isApart) && (slices.ContainsFunc(a, isApart) || slices.ContainsFunc(b, isApart)) {
		ofA, ofB = append(ofA, apart), append(ofB, apart)
	}
	return ofA, ofB
}

// ofAny returns a setting without the name of its array, so that it equals the settings of other arrays. It keeps the
// name in options other than Drop and Broadcast, because these are not given once for each array. The largest tolerance is for all arrays.
func (s Setting) ofAny(array string) Setting {
	glob := GlobOf(array[1:])
	along, isAlong := strings.CutPrefix(s.Value, glob+"=")
	switch {
	case s.Option == Drop && s.Value == ListItem(glob):
		s.Value = "\x00"
	case s.Option == Broadcast && isAlong:
		s.Value = "\x00=" + along
	case s.Option == Tolerance:
		s.Value = "\x00"
	}
	return s
}

// addRemedies adds the settings of remedies to the remedies of a finding, which set the same options of another array.
func (f *Finding) addRemedies(more []Remedy) {
	f.Remedies = slices.Clone(f.Remedies)
	for i, r := range more {
		own := &f.Remedies[i]
		if r.Option == Tolerance {
			if numberOf(r.Value) > numberOf(own.Value) {
				own.Value = r.Value
			}
			continue
		}
		for _, s := range append([]Setting{r.Setting}, r.With...) {
			if s != own.Setting && !slices.Contains(own.With, s) {
				*own = own.And(s.Option, s.Value)
			}
		}
	}
}

func numberOf(text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.Inf(1) // a later check of the option refuses it
	}
	return x
}
