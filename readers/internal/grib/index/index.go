// Package index parses index files of GRIB, which list the messages of a data file:
//
//	wgrib2, .idx         1:0:d=2021010100:TMP:2 m above ground:6 hour fcst:
//	                     2:61044:d=2021010100:TMP:500 mb:6 hour fcst:
//	ECMWF, .index        {"date": "20240101", "time": "0000", "step": "6", "levtype": "pl", "levelist": "500", "param": "t", "_offset": 0, "_length": 609069}
//
// An Entry has the place and the reference time of a message, and all other words of its line as Text. Describe finds the level, the step
// and the member in a text, as far as it understands them.
//
// Specifications: the manual of wgrib2, options -s, -lev, -ftime, -ens and -range; ECMWF open data, section "index files".
package index

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"varve/codec"
	"varve/readers"
)

// Format is a format of index files.
type Format uint8

// The formats.
const (
	WGRIB2 Format = iota + 1
	ECMWF
)

// Unknown is the length of a message that the index file does not say.
const Unknown = -1

// Entry is a line of an index file.
type Entry struct {
	Line    int   // its number, from 1 on
	Offset  int64 // of the message
	Length  int64 // of the message, or Unknown
	IsField bool  // the entry is one of several fields of a message
	// Reference is the reference time of the message.
	Reference time.Time
	// Text has all words of the line that say what the message is, except its reference time.
	Text string
}

// File is the content of an index file.
type File struct {
	Format  Format
	Entries []Entry // in the order of the lines
	// Skipped is the number of lines that were not understood.
	Skipped int
	IsCut   bool // the last line was not understood
}

// The limits of index files. The index files of the largest ensembles have about 10,000 lines and 3 MB.
const (
	MaxBytes = 64 << 20
	maxLines = 1 << 18
)

// Parse parses an index file, which may be compressed with gzip. Lines that it does not understand are counted only. An error means that
// the file is larger than the limits or that its compression is damaged.
func Parse(b []byte) (*File, error) {
	if bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		var err error
		if b, err = gunzip(b); err != nil {
			return nil, err
		}
	}
	if len(b) > MaxBytes {
		return nil, readers.Corruptf("an index file of more than %d bytes", MaxBytes)
	}
	f, text := &File{}, string(b)
	parsers := [...]func(string) (Entry, bool){WGRIB2: parseWGRIB2, ECMWF: parseECMWF}
	number := 0
	unknownBefore := false // a line before this one was not understood, so the message of the last entry may end earlier
	for line := range strings.Lines(text) {
		if number++; number > maxLines {
			return nil, readers.Corruptf("an index file of more than %d lines", maxLines)
		}
		whole := strings.HasSuffix(line, "\n")
		if line = strings.TrimRight(line, "\r\n"); line == "" {
			continue
		}
		format := WGRIB2
		if line[0] == '{' {
			format = ECMWF
		}
		e, ok := parsers[format](line)
		ok = ok && (whole || isComplete(format, line)) && (f.Format == 0 || f.Format == format)
		if !ok {
			f.Skipped++
			unknownBefore = true
			continue
		}
		f.Format, e.Line = format, number
		if n := len(f.Entries); n > 0 && format == WGRIB2 {
			f.Entries[n-1].endBefore(&e, unknownBefore)
		}
		unknownBefore = false
		f.Entries = append(f.Entries, e)
	}
	f.IsCut = unknownBefore
	return f, nil
}

// isComplete reports whether a last line without a newline has its end: it may be cut.
func isComplete(format Format, line string) bool {
	return format == ECMWF && strings.HasSuffix(line, "}") || format == WGRIB2 && strings.HasSuffix(line, ":")
}

// endBefore sets the length of a message of wgrib2, which is up to the next message.
func (e *Entry) endBefore(next *Entry, unknownBetween bool) {
	if e.Length == Unknown && !unknownBetween && next.Offset > e.Offset {
		e.Length = next.Offset - e.Offset
	}
}

func gunzip(b []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, readers.Corruptf("gzip: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(z, MaxBytes+1))
	if err != nil && !errors.Is(err, codec.ErrCorrupt) {
		err = readers.Corruptf("gzip: %w", err)
	}
	return out, err
}

// Decimal is Digits · 10^-Scale.
type Decimal struct {
	Digits int64
	Scale  int
}

// maxDigits bounds the digits of a number: wgrib2 rounds to six.
const maxDigits = 5

// ParseDecimal parses a number such as 0.4, 500 or 2e-06. It returns false if the number has so many digits that it may be rounded.
func ParseDecimal(s string) (Decimal, bool) {
	mantissa, exponent, has := strings.Cut(s, "e")
	var d Decimal
	if has {
		n, err := strconv.Atoi(exponent)
		if err != nil || n < -20 || n > 20 {
			return d, false
		}
		d.Scale = -n
	}
	whole, fraction, point := strings.Cut(mantissa, ".")
	digits := whole + fraction
	if whole == "" || point && fraction == "" || strings.Trim(digits, "0123456789") != "" || len(strings.Trim(digits, "0")) > maxDigits {
		return d, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return d, false
	}
	d.Digits, d.Scale = n, d.Scale+len(fraction)
	return d, true
}

// Times returns the number multiplied by 10^power.
func (d Decimal) Times(power int) Decimal { return Decimal{d.Digits, d.Scale - power} }

// At returns the digits of the number at another scale, or false if it has no such digits or they do not fit in 31 bits.
func (d Decimal) At(scale int) (int64, bool) {
	n := d.Digits
	for ; d.Scale < scale && n != 0; d.Scale++ {
		if n *= 10; n > math.MaxInt32 {
			return 0, false
		}
	}
	for ; d.Scale > scale && n != 0; d.Scale-- {
		if n%10 != 0 {
			return 0, false
		}
		n /= 10
	}
	return n, n >= 0 && n <= math.MaxInt32
}

// Equal reports whether two numbers are equal.
func (d Decimal) Equal(o Decimal) bool {
	n, ok := d.At(max(d.Scale, o.Scale))
	m, fits := o.At(max(d.Scale, o.Scale))
	return ok && fits && n == m
}

// Float returns the number, rounded to a float64.
func (d Decimal) Float() float64 { return float64(d.Digits) * math.Pow10(-d.Scale) }

// Level is the level in a text: one fixed surface, or two.
type Level struct {
	Surface     int // the type of fixed surface, code table 4.5
	IsLayer     bool
	Top, Bottom Decimal // in SI units; equal if it is no layer
}

// Step is the step in a text: a moment, or a range.
type Step struct {
	Start, End time.Duration
	IsRange    bool
	// HasStart is false if the text has the end of the step and does not say whether it is a range.
	HasStart bool
}

// Description is the meaning of a text.
type Description struct {
	// Kind is the text without the numbers of Level, Step and Member. Messages of the same kind differ in these numbers and their
	// reference times only.
	Kind   string
	Level  *Level // nil: none is understood; then Kind has all words about the level
	Step   *Step  // likewise
	Member *int64 // likewise
}

// Describe returns the description of a text of a format.
func (f Format) Describe(text string) Description {
	if f == ECMWF {
		return describeECMWF(text)
	}
	return describeWGRIB2(text)
}

// parseUint parses a decimal number without a sign that fits in an int64.
func parseUint(s string) (int64, bool) {
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), err == nil
}

// parseTime parses YYYYMMDD, followed by HH, HHMM or HHMMSS.
func parseTime(s string) (time.Time, bool) {
	layout := "20060102150405"
	if len(s) < 10 || len(s) > len(layout) || len(s)%2 != 0 {
		return time.Time{}, false
	}
	// By hand, since an archive has millions of lines and time.Parse takes most of the time.
	var t [6]int
	for i, c := range []byte(s) {
		if c < '0' || c > '9' {
			return time.Time{}, false
		}
		k := max(0, i/2-1)
		t[k] = t[k]*10 + int(c-'0')
	}
	when := time.Date(t[0], time.Month(t[1]), t[2], t[3], t[4], t[5], 0, time.UTC)
	return when, t[1] >= 1 && t[1] <= 12 && t[2] >= 1 && when.Day() == t[2] && t[3] < 24 && t[4] < 60 && t[5] < 60
}
