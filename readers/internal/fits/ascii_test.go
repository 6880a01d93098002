package fits

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"varve/readers"
)

// decimalFieldOf returns the field that TFORM1 and TNULL1 describe.
func decimalFieldOf(t testing.TB, form, null string) field {
	h := &header{index: map[string]int{}}
	for _, c := range []string{"TBCOL1  = 1", "TFORM1  = '" + form + "'", null} {
		if c != "" {
			h.add(parseCard(fmt.Appendf(nil, "%-80s", c)), nil)
		}
	}
	f, err := (&hdu{header: h, axes: []uint64{99, 1}, bitpix: 8, kind: asciiTable}).asciiField(1)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestNumbers(t *testing.T) {
	const star = "TNULL1  = '*'"
	for _, c := range []struct {
		form, null, text string
		want             any // int64, float64, or nil for an error
	}{
		{"I4", "", " -12", int64(-12)},
		{"I4", "", "12  ", int64(12)},
		{"I4", "", "+12\x00", int64(12)},
		{"I4", "", "    ", int64(0)},
		{"I4", star, "   *", int64(math.MinInt16)},
		{"I4", star, "    ", int64(0)},
		{"I4", "TNULL1  = '-9  '", " -9 ", int64(math.MinInt16)},
		{"I4", "TNULL1  = ' '", "    ", int64(math.MinInt16)},
		{"I9", star, "*        ", int64(math.MinInt32)},
		{"I9", "", "-99999999", int64(-99999999)},
		{"I20", star, "*                   ", int64(math.MinInt64)},
		{"I20", "", "-9223372036854775808", int64(math.MinInt64)},
		{"I20", "", " 9223372036854775808", nil},
		{"I4", "", "1 2 ", nil},
		{"I4", "", "1.5 ", nil},
		{"I4", "", "****", nil},
		{"F8.3", "", "  -1.25 ", -1.25},
		{"F8.3", "", "   12345", 12.345},
		{"F8.3", "", "     -5 ", -0.005},
		{"F8.0", "", "     -5 ", -5.0},
		{"F8", "", "     25 ", 25.0},
		{"E10.2", "", "  12345E-1", 12.345},
		{"E10.2", "", "1.5E+03   ", 1500.0},
		{"E10.2", "", "1.5+03    ", 1500.0},
		{"E10.2", "", "-1.5-3    ", -0.0015},
		{"D10.2", "", "1.5D3     ", 1500.0},
		{"D10.2", "", "1.5d-3    ", 0.0015},
		{"F8.3", "", "        ", math.NaN()},
		{"F8.3", star, "*       ", math.NaN()},
		{"F8.3", "", "nan     ", math.NaN()},
		{"F8.3", "", "-Inf    ", math.Inf(-1)},
		{"F8.3", "", "infinity", math.Inf(1)},
		{"F8.3", "", "1.5E    ", nil},
		{"F8.3", "", "E5      ", nil},
		{"F8.3", "", "1EE5    ", nil},
		{"F8.3", "", "1 5     ", nil},
		{"F8.3", "", "-       ", nil},
		{"F8.3", "", "1E999   ", nil},
		{"F8.3", "", "0x10    ", nil},
	} {
		f := decimalFieldOf(t, c.form, c.null)
		got, err := f.appendNumber(nil, []byte(c.text))
		if c.want == nil {
			if !errors.Is(err, readers.ErrCorrupt) {
				t.Errorf("%s %q: %x, %v, want ErrCorrupt", c.form, c.text, got, err)
			}
			continue
		}
		want := binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.Float64frombits(0x7ff8<<48)))
		switch v := c.want.(type) {
		case int64:
			want = binary.LittleEndian.AppendUint64(nil, uint64(v))[:f.typ.Size]
		case float64:
			if !math.IsNaN(v) {
				want = binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
			}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s %q: %x, %v, want %v", c.form, c.text, got, err, c.want)
		}
	}
}

// asciiOf returns a file with an ASCII table of two rows of ten characters.
func asciiOf(more ...string) []byte {
	list := append([]string{"XTENSION= 'TABLE'", "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 10", "NAXIS2  = 2", "PCOUNT  = 0", "GCOUNT  = 1"}, more...)
	return slices.Concat(cards("SIMPLE  =                    T", "BITPIX  = 8", "NAXIS   = 0"), cards(list...), fmt.Appendf(nil, "%-*s", blockSize, "  12ab 1.5  x5cd   2 "))
}

func TestASCIIRejected(t *testing.T) {
	for name, more := range map[string][]string{ // keyword or value in the error
		"TFIELDS":        nil,
		`TFORM1 = "X5"`:  {"TFIELDS = 1", "TFORM1  = 'X5'", "TBCOL1  = 1"},
		`TFORM1 = "I"`:   {"TFIELDS = 1", "TFORM1  = 'I'", "TBCOL1  = 1"},
		`TFORM1 = "2I5"`: {"TFIELDS = 1", "TFORM1  = '2I5'", "TBCOL1  = 1"},
		`TFORM1 = "I0"`:  {"TFIELDS = 1", "TFORM1  = 'I0'", "TBCOL1  = 1"},
		`"x"`:            {"TFIELDS = 1", "TFORM1  = 'F5.x'", "TBCOL1  = 1"},
		`"6"`:            {"TFIELDS = 1", "TFORM1  = 'F5.6'", "TBCOL1  = 1"},
		"TBCOL1":         {"TFIELDS = 1", "TFORM1  = 'I5'"},
		"TBCOL1 ":        {"TFIELDS = 1", "TFORM1  = 'I5'", "TBCOL1  = 0"},
		"byte 7 ":        {"TFIELDS = 1", "TFORM1  = 'I5'", "TBCOL1  = 7"},
		"byte 70":        {"TFIELDS = 1", "TFORM1  = 'I5'", "TBCOL1  = 70"},
	} {
		p := open(t, asciiOf(more...)).Problems
		if len(p) != 1 || !strings.Contains(p[0].Err.Error(), name) || !errors.Is(p[0].Err, readers.ErrCorrupt) {
			t.Errorf("%v: %v, want ErrCorrupt that names %q", more, p, name)
		}
	}
}

// hasPosition reports whether an error has the path of an object and an offset.
func hasPosition(err error, path string, offset int64) bool {
	found := false
	for e := (*readers.Error)(nil); errors.As(err, &e); err = e.Err {
		found = found || e.Path == path
		if found && e.Offset == offset {
			return true
		}
	}
	return false
}

// TestASCIIDamage: an invalid number is reported with its offset.
func TestASCIIDamage(t *testing.T) {
	data := asciiOf("TFIELDS = 2", "TBCOL1  = 1", "TFORM1  = 'I4'", "TBCOL2  = 7", "TFORM2  = 'F4.1'")
	v := open(t, data).Root.Groups[0].Variables
	if _, err := v[0].ReadAll(context.Background(), 99); !errors.Is(err, readers.ErrCorrupt) || !hasPosition(err, "/HDU1/col1", 5770) {
		t.Errorf("%v", err)
	}
	value, err := v[1].ReadAll(context.Background(), 99)
	if err != nil || float(value.Data) != 1.5 || !v[1].Storage.IsDecimal {
		t.Errorf("%x, %v", value.Data, err)
	}
	if _, err := v[1].ReadAll(context.Background(), 15); err == nil {
		t.Errorf("%v", err)
	}
	v = open(t, data[:2*blockSize+15]).Root.Groups[0].Variables
	if _, err := v[1].ReadAll(context.Background(), 99); !errors.Is(err, readers.ErrCorrupt) || !strings.Contains(err.Error(), "5780") {
		t.Errorf("%v", err)
	}
}

// TestLowest: the fill value of a column cannot also be one of its numbers.
func TestLowest(t *testing.T) {
	f := decimalFieldOf(t, "I20", "TNULL1  = '*'")
	if _, err := f.appendNumber(nil, []byte("-9223372036854775808")); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}

func FuzzNumber(f *testing.F) {
	f.Add(uint8(0), uint8(0), "12")
	f.Add(uint8(1), uint8(3), " -1.5E+03")
	f.Add(uint8(2), uint8(2), "15D-3")
	f.Fuzz(func(t *testing.T, form, decimals uint8, text string) {
		forms := []string{"I4", "I9", "I20", "F99", "E99", "D99"}
		field := decimalFieldOf(t, forms[int(form)%len(forms)], "TNULL1  = '*'")
		field.decimal.decimals = int(decimals)
		out, err := field.appendNumber(nil, []byte(text))
		if err == nil && len(out) != field.typ.Size || err != nil && !isDamage(err) {
			t.Errorf("%q: %x, %v", text, out, err)
		}
	})
}
