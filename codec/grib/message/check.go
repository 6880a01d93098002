package message

import (
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"varve/codec/grib/keys"
	"varve/codec/grib/section"
	"varve/codec/internal/corrupt"
)

// A message that an index file locates is not read when its file is scanned. So the reference to it holds a check, a 32-bit number that
// is computed from what the message must be: its parameter, level, step, member, grid and reference time. Verify computes it again from
// the message itself, each time that the message is read.

// ErrIndex marks an error as caused by an index file that does not describe the data.
var ErrIndex = errors.New("the index file does not describe the data")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Headers has the sections of a field that identify it.
type Headers struct {
	Edition, Discipline int
	Identification      []byte // section 1
	Grid                []byte // section 2 of edition 1, section 3 of edition 2
	Product             []byte // section 4 of edition 2
}

// Identity returns a checksum of everything that identifies a field except its reference time. It leaves out keys that can change
// within an archive without effect on the meaning of a field, such as the version of the model.
func (h *Headers) Identity() uint32 {
	b := append(make([]byte, 0, 256), byte(h.Edition), byte(h.Discipline))
	if h.Edition == 1 {
		b = appendProduct1(b, h.Identification)
	} else {
		b = appendProduct2(b, h.Identification, h.Product)
	}
	return crc32.Update(crc32.Checksum(b, castagnoli), castagnoli, h.Grid)
}

func appendProduct1(b, s []byte) []byte {
	if len(s) < 28 {
		return append(b, s...)
	}
	b = append(b, s[3:5]...)    // table, centre
	b = append(b, s[6])         // predefined grid
	b = append(b, s[8:12]...)   // parameter, level
	b = append(b, s[17:21]...)  // step
	b = append(b, s[25])        // subcentre
	return append(b, s[28:]...) // local definition: member, stream, type
}

// ecmwf is the number of ECMWF in the code table of centres.
const ecmwf = 98

// lastOldTables is the last version of the tables in which ECMWF encoded some parameters in another way.
const lastOldTables = 33

// identifying lists the keys of product definitions that identify a field, without the keys of its step.
var identifying = []string{
	"parameterCategory", "parameterNumber",
	"typeOfFirstFixedSurface", "scaleFactorOfFirstFixedSurface", "scaledValueOfFirstFixedSurface",
	"typeOfSecondFixedSurface", "scaleFactorOfSecondFixedSurface", "scaledValueOfSecondFixedSurface",
	"perturbationNumber", "derivedForecast", "percentileValue",
	"probabilityType", "scaleFactorOfLowerLimit", "scaledValueOfLowerLimit", "scaleFactorOfUpperLimit", "scaledValueOfUpperLimit",
	"constituentType", "aerosolType", "scaledValueOfFirstSize", "scaledValueOfFirstWavelength", "modeNumber", "waveDirectionNumber",
	"waveFrequencyNumber", "directionNumber", "frequencyNumber", "satelliteNumber", "scaledValueOfCentralWaveNumber", "tileIndex",
}

// maxRanges bounds the time ranges that are part of an identity.
const maxRanges = 8

func appendProduct2(b, identification, product []byte) []byte {
	if len(identification) < 21 || len(product) < 9 {
		return append(append(b, identification...), product...)
	}
	b = append(b, identification[5:7]...) // centre
	if keys.Unsigned(identification[5:7]) == ecmwf && identification[9] <= lastOldTables {
		b = append(b, 1)
	}
	b = append(b, product[7:9]...)
	v := keys.Read(fmt.Sprintf("4.%d", keys.Unsigned(product[7:9])), product, 9)
	if v.End() == 0 {
		return append(b, product[9:]...) // a template without a layout: all of it
	}
	for i, key := range identifying {
		if stored, ok := v.Bytes(key); ok {
			b = append(append(b, byte(i)), stored...)
		}
	}
	b = appendTime(b, v, "forecastTime", "indicatorOfUnitForForecastTime", 0)
	for i := range maxRanges {
		statistic, ok := v.IntAt("typeOfStatisticalProcessing", i)
		if !ok {
			break
		}
		increment, _ := v.IntAt("typeOfTimeIncrement", i)
		b = appendTime(append(b, byte(statistic), byte(increment)), v, "lengthOfTimeRange", "indicatorOfUnitForTimeRange", i)
	}
	return b
}

// seconds has the lengths of the time units of edition 2 that are multiples of each other, by their numbers in code table 4.4.
var seconds = map[int64]int64{0: 60, 1: 3600, 2: 86400, 10: 3 * 3600, 11: 6 * 3600, 12: 12 * 3600, 13: 1, 14: 15 * 60, 15: 30 * 60}

// appendTime appends a duration, in seconds if its unit has a fixed length: an hour equals 60 minutes.
func appendTime(b []byte, v keys.Values, value, unit string, nth int) []byte {
	n, ok := v.IntAt(value, nth)
	if !ok {
		return b
	}
	code, _ := v.IntAt(unit, nth)
	if of := seconds[code]; of != 0 {
		n, code = n*of, 255
	}
	return fmt.Appendf(b, "%d/%d.", n, code)
}

// Check returns the check of a field with an identity and a reference time. It is never 0.
func Check(identity uint32, reference time.Time) uint32 {
	n := uint64(reference.Unix())
	var b [8]byte
	for i := range b {
		b[i] = byte(n >> (8 * i))
	}
	return max(crc32.Update(identity, castagnoli, b[:]), 1)
}

// GridCheck returns the check of the section with a grid definition. It is never 0.
func GridCheck(s []byte) uint32 { return max(crc32.Checksum(s, castagnoli), 1) }

// Verify returns an error that wraps ErrIndex unless b is a message with one field and this check.
func Verify(b []byte, check uint32) error {
	view := section.ViewOf(b)
	h, err := section.ReadHeader(view, 0, int64(len(b)))
	if err != nil {
		return mismatch("the bytes are not a GRIB message: %w", err)
	}
	if h.Length != int64(len(b)) {
		return mismatch("the message has %d bytes, the index file says %d", h.Length, len(b))
	}
	list, err := section.Walk(view, 0, int64(len(b)), h.Edition)
	if err != nil {
		return err
	}
	fields, err := section.Fields(view, list, h.Edition, false)
	if err != nil {
		return err
	}
	if len(fields) != 1 {
		return mismatch("the message has %d fields, the index file says one", len(fields))
	}
	bytes := func(n int) []byte { s := fields[0].Sections[n]; return b[s.Offset : s.Offset+s.Length] }
	headers := Headers{Edition: h.Edition, Discipline: h.Discipline, Identification: bytes(1), Grid: bytes(3), Product: bytes(4)}
	if h.Edition == 1 {
		headers.Grid, headers.Product = bytes(2), nil
	}
	reference := Reference(h.Edition, headers.Identification)
	if Check(headers.Identity(), reference) != check {
		return mismatch("the message is not the one that the index file describes: its reference time (%s), parameter, level, step, member or grid differs",
			reference.Format("2006-01-02 15:04"))
	}
	return nil
}

// VerifyGrid returns an error that wraps ErrIndex unless b is the section with this check.
func VerifyGrid(b []byte, check uint32) error {
	if GridCheck(b) != check {
		return mismatch("the message has another grid than the template file")
	}
	return nil
}

func mismatch(format string, args ...any) error {
	return corrupt.Errorf("%w: %w", fmt.Errorf(format, args...), ErrIndex)
}

// Reference returns the reference time in section 1. Numbers outside their ranges are carried over as by time.Date.
func Reference(edition int, s []byte) time.Time {
	switch {
	case edition == 1 && len(s) >= 25:
		return time.Date((int(s[24])-1)*100+int(s[12]), time.Month(s[13]), int(s[14]), int(s[15]), int(s[16]), 0, 0, time.UTC)
	case edition == 2 && len(s) >= 19:
		return time.Date(int(keys.Unsigned(s[12:14])), time.Month(s[14]), int(s[15]), int(s[16]), int(s[17]), int(s[18]), 0, time.UTC)
	}
	return time.Time{}
}
