package cf

import (
	"errors"
	"fmt"
	"math"

	"varve/codec"
)

// Reference is the units, calendar and type in which an array represents the times of many files.
type Reference struct {
	Text     string     // the attribute units
	Calendar string     // the attribute calendar
	Type     codec.Type // of the elements; int64 unless the files agree on another
	Fill     []byte     // element for a missing time; nil if none is missing

	times Times // the same as Times without elements
}

// NewReference returns the reference that the attributes of an array declare. fill may be nil.
func NewReference(units, calendar string, t codec.Type, fill []byte) (Reference, error) {
	u, err := ParseUnits(units, calendar)
	if err != nil {
		return Reference{}, err
	}
	return reference(u, t, fill), nil
}

func reference(u Units, t codec.Type, fill []byte) Reference {
	r := Reference{Text: u.String(), Calendar: u.Calendar.String(), Type: t, Fill: fill}
	r.times = Times{Units: u, Packing: Packing{Type: t}, Type: t}
	if fill != nil {
		r.times.Packing.Masks = [][]byte{fill}
	}
	return r
}

// Units returns the units and calendar of the reference.
func (r Reference) Units() Units { return r.times.Units }

// CalendarError is returned for times in calendars between which times cannot be converted.
type CalendarError struct {
	File int // index of the first file whose calendar differs from file 0
	A, B Calendar
}

// Error implements error.
func (e *CalendarError) Error() string {
	return fmt.Sprintf("calendars %s and %s have different days, so times cannot be converted between them", e.A, e.B)
}

var (
	int64Type   = codec.Type{Kind: codec.Int, Size: 8}
	float64Type = codec.Type{Kind: codec.Float, Size: 8}
)

// CommonReference returns one reference for the times of many files. If the files have the same units, it
// is theirs. Otherwise it has the coarsest unit in which all times are integers that fit int64, or a unit
// that all files have, if that is possible. The reference is never packed.
func CommonReference(files []Times) (Reference, error) {
	if len(files) == 0 {
		return Reference{}, errors.New("there are no times")
	}
	agree := !files[0].Packing.Scaled()
	for i, t := range files {
		if !IsConvertible(t.Units.Calendar, files[0].Units.Calendar) {
			return Reference{}, &CalendarError{i, files[0].Units.Calendar, t.Units.Calendar}
		}
		agree = agree && t.isEquivalent(files[0])
	}
	if agree {
		return referenceOf(files[0]), nil
	}
	var all survey
	for _, t := range files {
		if err := all.add(t); err != nil {
			return Reference{}, err
		}
	}
	return all.choose()
}

func referenceOf(t Times) Reference {
	r := reference(t.Units, t.Type, nil)
	if len(t.Packing.Masks) > 0 {
		r.Fill = t.Packing.Masks[0]
	}
	r.times = t
	r.times.Elements = nil
	return r
}

// survey collects the properties of times that a reference has to represent.
type survey struct {
	units                []Units // without duplicates that follow one another
	first, last          Instant
	hasTimes, hasMissing bool // there are times; there are elements that are not times
	instants             []Instant
}

func (s *survey) add(t Times) error {
	if n := len(s.units); n == 0 || s.units[n-1] != t.Units {
		s.units = append(s.units, t.Units)
	}
	at, ok, err := t.Instants()
	if err != nil {
		return err
	}
	for i, moment := range at {
		if !ok[i] {
			s.hasMissing = true
			continue
		}
		if !s.hasTimes || moment.Compare(s.first) < 0 {
			s.first = moment
		}
		if !s.hasTimes || moment.Compare(s.last) > 0 {
			s.last = moment
		}
		s.hasTimes = true
		s.instants = append(s.instants, moment)
	}
	return nil
}

// choose returns a reference for the first epoch that works. The best epochs are tried first.
func (s *survey) choose() (Reference, error) {
	for _, epoch := range s.epochs() {
		u := Units{Epoch: epoch, Calendar: s.calendar()}
		if length, ok := s.length(u); ok {
			u.Nanoseconds = length
			return s.finish(u)
		}
	}
	return Reference{}, fmt.Errorf("times from %s to %s do not fit int64 in any unit in which all are whole numbers",
		s.first.Format(s.calendar()), s.last.Format(s.calendar()))
}

// calendar returns Standard if one of the files uses it, else the calendar of all files.
func (s *survey) calendar() Calendar {
	c := s.units[0].Calendar
	for _, u := range s.units {
		c = min(c, u.Calendar)
	}
	return c
}

// epochs returns the epochs to try: the common epoch, or else the day of the earliest one; then the day
// of the first time; then 1970.
func (s *survey) epochs() (epochs []Instant) {
	epoch, same := s.units[0].Epoch, true
	for _, u := range s.units {
		same = same && u.Epoch == epoch
		if u.Epoch.Compare(epoch) < 0 {
			epoch = u.Epoch
		}
	}
	// A date without a time of day is easier to read, and no file's own epoch is better.
	if !same {
		epoch = epoch.midnight()
	}
	if s.isReadable(epoch) {
		epochs = append(epochs, epoch)
	}
	if s.hasTimes {
		epochs = append(epochs, s.first.midnight())
	}
	return append(epochs, Instant{}, epoch)
}

// isReadable reports whether xarray decodes times since an epoch to nanoseconds. It does not if datetime64
// can represent the times but not the epoch.
func (s *survey) isReadable(epoch Instant) bool {
	fits := func(t Instant) bool {
		return t.fitsDatetime64() && (s.calendar() != Standard || t.Seconds >= gregorianStart*86400)
	}
	return !s.calendar().isReal() || fits(epoch) || !s.hasTimes || !fits(s.first)
}

func (t Instant) midnight() Instant {
	n, _ := floorDiv(t.Seconds, 86400)
	return Instant{Seconds: n * 86400}
}

// length returns the unit of all files, if there is one in which all times are whole numbers, or the
// coarsest such unit. It reports false if the numbers are too large for int64, or for clients that
// calculate in float64.
func (s *survey) length(u Units) (int64, bool) {
	limit := int64(math.MaxInt64)
	// cftime decodes these times, in float64: larger integers would lose digits.
	if u.Calendar == Julian || !u.Calendar.isReal() || !u.Epoch.fitsDatetime64() || !s.first.fitsDatetime64() || !s.last.fitsDatetime64() {
		limit = 1 << 53
	}
	candidates := []int64{day, 3600 * second, 60 * second, second, 1e6, 1e3, 1}
	if common, ok := s.common(); ok {
		candidates = append([]int64{common}, candidates...)
	}
	for _, length := range candidates {
		switch whole, fits := s.whole(u.Epoch, length, limit); {
		case whole && fits:
			return length, true
		case whole:
			return 0, false
		}
	}
	return 0, false
}

func (s *survey) common() (int64, bool) {
	for _, u := range s.units {
		if u.Nanoseconds != s.units[0].Nanoseconds {
			return 0, false
		}
	}
	return s.units[0].Nanoseconds, true
}

// whole reports whether all times are whole numbers of a unit, and whether these numbers fit a limit.
func (s *survey) whole(epoch Instant, length, limit int64) (whole, fits bool) {
	fits = true
	for _, t := range s.instants {
		n, rest, ok := t.add(epoch.negative()).dividedBy(length)
		if ok && rest != 0 {
			return false, false
		}
		fits = fits && ok && n <= limit && n >= -limit
	}
	return true, fits
}

// finish returns the reference with these units, and with a fill value if a time is missing.
func (s *survey) finish(u Units) (Reference, error) {
	parsed, err := ParseUnits(u.String(), u.Calendar.String())
	if err != nil {
		return Reference{}, err
	}
	switch {
	case !s.hasMissing:
		return reference(parsed, int64Type, nil), nil
	case parsed.Calendar.isReal() && !parsed.isCoarse:
		return reference(parsed, int64Type, AppendWord(nil, 1<<63, 8)), nil
	}
	// cftime decodes the smallest int64, which means a missing time elsewhere, to a date.
	return reference(parsed, float64Type, NaN(float64Type)), nil
}

// Elements returns the elements of t, converted to the reference.
func (r Reference) Elements(t Times) ([]byte, error) {
	if r.Same(t) {
		return append([]byte(nil), t.Elements...), nil
	}
	out := make([]byte, 0, t.Len()*r.Type.Size)
	var err error
	for i := range t.Len() {
		if out, err = r.append(out, t, t.Elements[i*t.Type.Size:][:t.Type.Size]); err != nil {
			return nil, fmt.Errorf("time %d: %w", i, err)
		}
	}
	return out, nil
}
