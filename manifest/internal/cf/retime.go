package cf

import (
	"fmt"
	"math"

	"varve/codec"
)

// Reference is what the times of many files are told in.
type Reference struct {
	Text     string     // the attribute units
	Calendar string     // the attribute calendar
	Type     codec.Type // of the numbers; int64, if the files do not agree on another
	Fill     []byte     // one element for what is no time; nil if all are

	times Times // what numbers of the reference mean
}

// NewReference returns the reference of an array that says so. Fill may be nil.
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

// Units are those that the reference is told in.
func (r Reference) Units() Units { return r.times.Units }

// CalendarError says that times are of calendars that have no common one.
type CalendarError struct {
	File int // the first that differs from file 0
	A, B Calendar
}

// Error implements error.
func (e *CalendarError) Error() string {
	return fmt.Sprintf("calendars %s and %s: a day of one need not be in the other", e.A, e.B)
}

var (
	int64Type   = codec.Type{Kind: codec.Int, Size: 8}
	float64Type = codec.Type{Kind: codec.Float, Size: 8}
)

// Retime finds one reference for the times of many files: that of the files if they agree,
// else the coarsest unit in which all are whole numbers of int64. A unit that all files have
// stays if it will do. The reference is never packed.
func Retime(files []Times) (Reference, error) {
	if len(files) == 0 {
		return Reference{}, fmt.Errorf("no times")
	}
	agree := !files[0].Packing.Scaled()
	for i, t := range files {
		if !SameLine(t.Units.Calendar, files[0].Units.Calendar) {
			return Reference{}, &CalendarError{i, files[0].Units.Calendar, t.Units.Calendar}
		}
		agree = agree && t.alike(files[0])
	}
	if agree {
		return keep(files[0]), nil
	}
	var all survey
	for _, t := range files {
		if err := all.look(t); err != nil {
			return Reference{}, err
		}
	}
	return all.choose()
}

func keep(t Times) Reference {
	r := reference(t.Units, t.Type, nil)
	if len(t.Packing.Masks) > 0 {
		r.Fill = t.Packing.Masks[0]
	}
	r.times = t
	r.times.Elements = nil
	return r
}

// survey is what a reference has to be good for.
type survey struct {
	units       []Units // the different ones
	first, last Instant
	some, none  bool // there are times, and elements that are none
	moments     []Instant
}

func (s *survey) look(t Times) error {
	if n := len(s.units); n == 0 || s.units[n-1] != t.Units {
		s.units = append(s.units, t.Units)
	}
	at, ok, err := t.Instants()
	if err != nil {
		return err
	}
	for i, moment := range at {
		if !ok[i] {
			s.none = true
			continue
		}
		if !s.some || moment.Compare(s.first) < 0 {
			s.first = moment
		}
		if !s.some || moment.Compare(s.last) > 0 {
			s.last = moment
		}
		s.some = true
		s.moments = append(s.moments, moment)
	}
	return nil
}

// choose tries the epochs that are good to read, the best first.
func (s *survey) choose() (Reference, error) {
	for _, epoch := range s.epochs() {
		u := Units{Epoch: epoch, Calendar: s.calendar()}
		if length, ok := s.length(u); ok {
			u.Nanoseconds = length
			return s.finish(u)
		}
	}
	return Reference{}, fmt.Errorf("times from %s to %s: no unit in which all of them fit int64",
		s.first.Format(s.calendar()), s.last.Format(s.calendar()))
}

// calendar is Proleptic if all files say so, else Standard, on their common line.
func (s *survey) calendar() Calendar {
	c := s.units[0].Calendar
	for _, u := range s.units {
		c = min(c, u.Calendar)
	}
	return c
}

// epochs are that of all files or else the day of the earliest, and the day of the first time.
func (s *survey) epochs() (epochs []Instant) {
	epoch, same := s.units[0].Epoch, true
	for _, u := range s.units {
		same = same && u.Epoch == epoch
		if u.Epoch.Compare(epoch) < 0 {
			epoch = u.Epoch
		}
	}
	if !same {
		epoch = epoch.midnight()
	}
	if s.readable(epoch) {
		epochs = append(epochs, epoch)
	}
	if s.some {
		epochs = append(epochs, s.first.midnight())
	}
	return append(epochs, Instant{}, epoch)
}

// readable reports whether xarray decodes times since an epoch as finely as they are: it does
// not if the epoch is out of the range of datetime64 and the times are not.
func (s *survey) readable(epoch Instant) bool {
	fits := func(t Instant) bool { return t.fine() && (s.calendar() != Standard || t.Seconds >= shift*86400) }
	return !s.calendar().real() || fits(epoch) || !s.some || !fits(s.first)
}

func (t Instant) midnight() Instant {
	n, _ := floorDiv(t.Seconds, 86400)
	return Instant{Seconds: n * 86400}
}

// length is the common unit of all files, if all times are whole in it, or the coarsest that
// they are whole in. It is false if they do not fit, or if a client that calculates in float64
// would round them.
func (s *survey) length(u Units) (int64, bool) {
	limit := int64(math.MaxInt64)
	if u.Calendar == Julian || !u.Calendar.real() || !u.Epoch.fine() || !s.first.fine() || !s.last.fine() {
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

func (s *survey) whole(epoch Instant, length, limit int64) (whole, fits bool) {
	fits = true
	for _, t := range s.moments {
		n, rest, ok := t.add(epoch.negative()).over(length)
		if ok && rest != 0 {
			return false, false
		}
		fits = fits && ok && n <= limit && n >= -limit
	}
	return true, fits
}

func (s *survey) finish(u Units) (Reference, error) {
	parsed, err := ParseUnits(u.String(), u.Calendar.String())
	if err != nil {
		return Reference{}, err
	}
	switch {
	case !s.none:
		return reference(parsed, int64Type, nil), nil
	case parsed.Calendar.real() && !parsed.coarse:
		return reference(parsed, int64Type, AppendWord(nil, 1<<63, 8)), nil
	}
	// cftime makes a date of the least int64, and none of NaN.
	return reference(parsed, float64Type, NaN(float64Type)), nil
}

// Elements returns times told in the reference.
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
