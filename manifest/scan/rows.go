package scan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

	"varve/codec"
	"varve/manifest"
	"varve/readers"
)

// Rows are compounds with strings of varying length, such as the tables of anndata. Zarr has no such data
// type, so each string becomes a fixed-length string of the longest length in its column. Lengths are
// multiples of textStep, so that files with other strings usually have the same type.
const textStep = 16

// maxRow limits the size of a row in bytes.
const maxRow = 1 << 20

// rows reads all elements of a variable of rows. It returns them with their type, which is t with strings that
// are long enough for all elements.
func (e *entry) rows(t codec.Type) (codec.Type, *manifest.Values, error) {
	n, err := elements(e.out.Shape)
	if err != nil || n > e.ValueBytes/int64(e.v.Type.Size) {
		return t, nil, e.tooLarge(e.out.Shape)
	}
	value, err := e.readAll()
	if err != nil {
		return t, nil, err
	}
	if err := fitTexts(&t, value.Data); err != nil {
		return t, nil, err
	}
	if n > e.ValueBytes/int64(t.Size) {
		return t, nil, e.tooLarge(e.out.Shape)
	}
	data, err := layRows(t, value.Data, n)
	return t, &manifest.Values{Data: data}, err
}

// fitTexts sets the length of the type's strings to the longest in rows.
func fitTexts(t *codec.Type, rows []byte) error {
	longest := make([]int, len(t.Fields))
	err := eachMember(t.Fields, rows, func(k int, stored []byte) error {
		if isText(&t.Fields[k]) {
			if !utf8.Valid(stored) {
				return fmt.Errorf("field %q contains text that is not UTF-8: %w", t.Fields[k].Name, errors.ErrUnsupported)
			}
			longest[k] = max(longest[k], utf8.RuneCount(stored))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for k := range t.Fields {
		if isText(&t.Fields[k]) {
			t.Fields[k].Type.Size = 4 * textStep * max((longest[k]+textStep-1)/textStep, 1)
		}
		t.Size += t.Fields[k].Type.Size
	}
	if t.Size > maxRow {
		return fmt.Errorf("a row needs %d bytes for its longest strings, more than the limit of %d: %w", t.Size, maxRow, errors.ErrUnsupported)
	}
	return nil
}

// layRows encodes n rows as elements of t.
func layRows(t codec.Type, rows []byte, n int64) ([]byte, error) {
	out := make([]byte, 0, n*int64(t.Size))
	err := eachMember(t.Fields, rows, func(k int, stored []byte) error {
		end := len(out) + t.Fields[k].Type.Size
		if !isText(&t.Fields[k]) {
			out = append(out, stored...)
			return nil
		}
		for _, c := range string(stored) {
			out = binary.LittleEndian.AppendUint32(out, uint32(c))
		}
		out = append(out, make([]byte, end-len(out))...)
		return nil
	})
	return out, err
}

// isText reports whether a field is a string of varying length. No other type of HDF5 becomes UTF-32.
func isText(f *codec.Field) bool { return f.Type.Kind == codec.FixedUTF32 }

// eachMember calls visit with the stored bytes of each field of each row. Strings are preceded by their
// length in 8 bytes.
func eachMember(fields []codec.Field, data []byte, visit func(k int, stored []byte) error) error {
	for len(data) > 0 {
		for k, f := range fields {
			size := uint64(f.Type.Size)
			if isText(&f) {
				if len(data) < 8 {
					return readers.Corruptf("field %q: the length of a string is missing", f.Name)
				}
				size, data = binary.LittleEndian.Uint64(data), data[8:]
			}
			if size > uint64(len(data)) {
				return readers.Corruptf("field %q needs %d bytes, but %d remain", f.Name, size, len(data))
			}
			if err := visit(k, data[:size]); err != nil {
				return err
			}
			data = data[size:]
		}
	}
	return nil
}
