package report

import (
	"encoding/json"
	"slices"
	"strings"
)

// Join merges findings that differ only in their array, and in settings that name it. It keeps the order. The remedies of
// merged findings have the settings of all arrays. Findings of StaticDiffers may also differ in remedies after the first: those that
// all have remain, and separate manifests, which are a way out for all.
func Join(findings []Finding) []Finding {
	var out []Finding
	at := map[string]int{}
	arrays := map[string][]string{}
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
		if f.Array != "" {
			arrays[key] = append(arrays[key], f.Array)
		}
	}
	for key, i := range at {
		slices.Sort(arrays[key])
		if paths := slices.Compact(arrays[key]); len(paths) > 1 {
			out[i].Array, out[i].Arrays = "", paths
		}
	}
	return out
}

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
// name in options other than Drop and Broadcast, because these are not given once for each array.
func (s Setting) ofAny(array string) Setting {
	glob := GlobOf(array[1:])
	along, isAlong := strings.CutPrefix(s.Value, glob+"=")
	switch {
	case s.Option == Drop && s.Value == ListItem(glob):
		s.Value = "\x00"
	case s.Option == Broadcast && isAlong:
		s.Value = "\x00=" + along
	}
	return s
}

// addRemedies adds the settings of remedies to the remedies of a finding, which set the same options of another array.
func (f *Finding) addRemedies(more []Remedy) {
	f.Remedies = slices.Clone(f.Remedies)
	for i, r := range more {
		own := &f.Remedies[i]
		for _, s := range append([]Setting{r.Setting}, r.With...) {
			if s != own.Setting && !slices.Contains(own.With, s) {
				*own = own.And(s.Option, s.Value)
			}
		}
	}
}
