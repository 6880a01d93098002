package fits

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"varve/readers"
	"varve/readers/internal/strided"
)

// decimalFormat describes the numbers in a column of an ASCII table (section 7.2.5).
type decimalFormat struct {
	decimals int // digits after the implied point, for reals without one
	null     *card
}

// asciiFields reads the columns of an ASCII table.
func (u *hdu) asciiFields() ([]field, error) {
	return u.columns("ASCII table", u.asciiField)
}

// asciiField reads one column. TFORMn is a letter, a width and, for reals, a number of decimals.
func (u *hdu) asciiField(n int) (field, error) {
	f := field{number: n, decimal: &decimalFormat{null: u.lookup(column("TNULL", n))}}
	form := u.string(column("TFORM", n))
	width, decimals, _ := strings.Cut(strings.TrimLeft(form, "AIFED"), ".")
	var err error
	if f.size, err = strconv.ParseUint(width, 10, 31); err != nil || f.size == 0 || len(form)-len(strings.TrimLeft(form, "AIFED")) != 1 {
		return f, readers.Corruptf("%s = %q is not one of Aw, Iw, Fw.d, Ew.d and Dw.d", column("TFORM", n), form)
	}
	if decimals != "" {
		if f.decimal.decimals, err = strconv.Atoi(decimals); err != nil || f.decimal.decimals < 0 || uint64(f.decimal.decimals) > f.size {
			return f, readers.Corruptf("%s = %q: %q is not a number of decimals up to the width", column("TFORM", n), form, decimals)
		}
	}
	first, err := u.int(column("TBCOL", n), true, 1, math.MaxInt64)
	if err != nil {
		return f, err
	}
	// TBCOLn counts from 1.
	if f.offset = first - 1; f.offset > u.axes[0] || f.size > u.axes[0]-f.offset {
		return f, readers.Corruptf("%s = %q at byte %d extends beyond the %d bytes of a row", column("TFORM", n), form, first, u.axes[0])
	}
	f.setElement(form[0])
	return f, nil
}

// setElement sets the type of a column: the smallest integer that holds all numbers of the width,
// as in CFITSIO and astropy. The lowest value of the type is free for missing values.
func (f *field) setElement(code byte) {
	switch {
	case code == 'A':
		f.decimal = nil
		f.typ = &readers.Type{Class: readers.String, Size: int(f.size), Padding: readers.SpacePadded}
	case code != 'I':
		f.typ = realType
	case f.size <= 4:
		f.typ = readers.Int(2, readers.LittleEndian, true)
	case f.size <= 9:
		f.typ = readers.Int(4, readers.LittleEndian, true)
	default:
		f.typ = int64Type
	}
}

// fillAttribute returns a _FillValue attribute, the lowest integer, if TNULLn defines missing values.
func (f *field) fillAttribute() []readers.Attribute {
	if f.decimal == nil || f.decimal.null == nil || f.typ.Class != readers.Integer {
		return nil
	}
	data := binary.LittleEndian.AppendUint64(nil, uint64(f.lowest()))[:f.typ.Size]
	return []readers.Attribute{{Name: "_FillValue", Value: readers.Value{Type: f.typ, Data: data}}}
}

func (f *field) lowest() int64 { return math.MinInt64 >> (64 - 8*f.typ.Size) }

// appendNumber appends the number in a field in memory form.
func (f *field) appendNumber(dst, stored []byte) ([]byte, error) {
	s := strings.Trim(string(stored), " \x00")
	null := f.decimal.null != nil && f.decimal.null.kind == text && s == strings.Trim(f.decimal.null.text, " ")
	if f.typ.Class == readers.Float {
		v, err := f.real(s, null)
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v)), err
	}
	v := f.lowest()
	if !null && s != "" {
		var err error
		if v, err = strconv.ParseInt(s, 10, 8*f.typ.Size); err != nil {
			return dst, readers.Corruptf("%q is not an integer of %d bytes", s, f.typ.Size)
		}
		if v == f.lowest() && f.decimal.null != nil {
			return dst, unsupported("number %s, which is also the fill value for TNULL", s)
		}
	} else if !null {
		v = 0 // the standard defines blanks as 0
	}
	return append(dst, binary.LittleEndian.AppendUint64(nil, uint64(v))[:f.typ.Size]...), nil
}

// real returns the number in a field. Blanks give NaN, as in astropy; the standard does not define
// them.
func (f *field) real(s string, null bool) (float64, error) {
	if null || s == "" || strings.EqualFold(s, "nan") {
		return math.Float64frombits(0x7ff8 << 48), nil
	}
	if v, ok := infinite(s); ok {
		return v, nil
	}
	mantissa, exponent := s, "0"
	if i := strings.IndexAny(s[1:], "EeDd+-"); i >= 0 {
		mantissa, exponent = s[:i+1], s[i+1:]
		if strings.ContainsAny(exponent[:1], "EeDd") {
			exponent = exponent[1:]
		}
	}
	// Without a point, the last digits are decimals: pad with zeros on the left and insert the
	// point.
	if f.decimal.decimals > 0 && !strings.Contains(mantissa, ".") && strings.ContainsAny(mantissa, "0123456789") {
		sign := mantissa[:len(mantissa)-len(strings.TrimLeft(mantissa, "+-"))]
		digits := strings.Repeat("0", f.decimal.decimals) + mantissa[len(sign):]
		point := len(digits) - f.decimal.decimals
		mantissa = sign + digits[:point] + "." + digits[point:]
	}
	v, ok := parseReal(mantissa + "E" + exponent)
	if !ok {
		return 0, readers.Corruptf("%q is not a real number", s)
	}
	return v, nil
}

func infinite(s string) (float64, bool) {
	switch strings.ToLower(strings.TrimLeft(s, "+-")) {
	case "inf", "infinity":
		return math.Inf(1 - 2*strings.Count(s[:1], "-")), true
	}
	return 0, false
}

// setDecimalReader sets ReadAll of a variable of an ASCII table.
func (b *builder) setDecimalReader(v *readers.Variable, f field) {
	v.ReadAll = func(ctx context.Context, limit uint64) (readers.Value, error) {
		value, err := b.readDecimal(ctx, v, f, limit)
		if err != nil {
			err = &readers.Error{Source: b.src.Name(), Path: v.Path, Offset: -1, Err: err}
		}
		return value, err
	}
}

// decimalAtOnce is the approximate size of the fields that are read together, in bytes.
const decimalAtOnce = 1 << 20

// readDecimal reads the numbers of a column of an ASCII table.
func (b *builder) readDecimal(ctx context.Context, v *readers.Variable, f field, limit uint64) (readers.Value, error) {
	s, rows := &v.Storage, v.Shape[0]
	if size := uint64(f.typ.Size); rows > limit/size {
		return readers.Value{}, fmt.Errorf("values take %d bytes each, and %d of them more than the limit of %d", size, rows, limit)
	}
	if rows > 0 && uint64(s.Offset)+(rows-1)*uint64(s.Stride)+f.size > uint64(b.src.Size()) {
		return readers.Value{}, readers.Corruptf("file is truncated: the data end at offset %d, but the file at %d; fetch it again", uint64(s.Offset)+(rows-1)*uint64(s.Stride)+f.size, b.src.Size())
	}
	per := min(max(decimalAtOnce/f.size, 1), rows)
	buf := make([]byte, per*f.size)
	data := make([]byte, 0, rows*uint64(f.typ.Size))
	for first := uint64(0); first < rows; first += per {
		n := min(per, rows-first)
		at := s.Offset + int64(first)*s.Stride
		if err := strided.Read(ctx, b.src, buf[:n*f.size], strided.Runs{Offset: at, Size: f.size, Stride: uint64(s.Stride), Count: n}); err != nil {
			return readers.Value{}, err
		}
		for i := range n {
			var err error
			// Each field is parsed as text, so only its offset can tell the user where to look.
			if data, err = f.appendNumber(data, buf[i*f.size:][:f.size]); err != nil {
				return readers.Value{}, &readers.Error{Offset: at + int64(i)*s.Stride, Err: err}
			}
		}
	}
	return readers.Value{Type: v.Type, Shape: v.Shape, Data: data}, ctx.Err()
}
