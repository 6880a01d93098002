package ingest

import (
	"errors"
	"fmt"
	"path"

	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/readers/source"
)

// errNoTimes means that the times of a file are not known.
var errNoTimes = errors.New("the manifest has no times of this file, so it must be named")

// Before chooses the files whose times are all before a date, such as 2020-02 or 2020-02-03T06:00.
func Before(date string) (Chooser, error) { return during("", date) }

// Between chooses the files whose times are all at or after a date, and before a later one.
func Between(from, to string) (Chooser, error) {
	first, err := instantOf(from, cf.Proleptic)
	if err != nil {
		return nil, err
	}
	if end, err := instantOf(to, cf.Proleptic); err == nil && first.Compare(end) >= 0 {
		return nil, fmt.Errorf("%s is not before %s", from, to)
	}
	return during(from, to)
}

// during chooses the files whose times are all at or after a date, unless it is empty, and before another.
func during(from, to string) (Chooser, error) {
	if _, err := instantOf(to, cf.Proleptic); err != nil {
		return nil, err
	}
	return func(files []*manifest.File) ([]bool, error) {
		gone := make([]bool, len(files))
		for i, f := range files {
			var err error
			if gone[i], err = isDuring(f, from, to); err != nil {
				return nil, fmt.Errorf("%s: %w", source.Shown(f.URL), err)
			}
		}
		return gone, nil
	}, nil
}

func isDuring(f *manifest.File, from, to string) (bool, error) {
	found := false
	for i, v := range f.Header.Expand().Variables {
		units, ok, err := cf.UnitsOf(v)
		if err != nil || !ok || !isTimeCoordinate(v) || i >= len(f.Values) || f.Values[i] == nil || f.Values[i].Summed {
			continue
		}
		limit, err := instantOf(to, units.Calendar)
		if err != nil {
			return false, err
		}
		var first cf.Instant
		if from != "" {
			if first, err = instantOf(from, units.Calendar); err != nil {
				return false, err
			}
		}
		times, err := cf.TimesOf(v, f.Values[i])
		if err != nil {
			return false, err
		}
		all, valid, err := times.Instants()
		if err != nil {
			return false, err
		}
		for k, at := range all {
			if valid[k] && (at.Compare(limit) >= 0 || from != "" && at.Compare(first) < 0) {
				return false, nil
			}
			found = found || valid[k]
		}
	}
	if !found {
		return false, errNoTimes
	}
	return true, nil
}

// isTimeCoordinate reports whether a variable has the times of its own dimension, or of a whole file.
func isTimeCoordinate(v *manifest.Variable) bool {
	switch len(v.Dims) {
	case 0:
		name, _ := cf.Text(v.Attributes, "standard_name")
		return name == "time" || path.Base(v.Path) == "time"
	case 1:
		return path.Base(v.Dims[0]) == path.Base(v.Path)
	}
	return false
}

// instantOf parses a date in the form that units of time have after "since".
func instantOf(date string, c cf.Calendar) (cf.Instant, error) {
	u, err := cf.ParseUnits("seconds since "+date, c.String())
	if err != nil {
		return cf.Instant{}, fmt.Errorf("%q is no date of the calendar %s; write it as 2010-02 or 2010-02-03T06:00", date, c)
	}
	return u.Epoch, nil
}
