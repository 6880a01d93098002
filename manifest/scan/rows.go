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

// Rows are compounds that have texts of varying length beside other members, such as tables of
// anndata. Zarr knows no such element: its texts are as long as the longest of each member, in
// steps so that files with other texts have the same type more often than not.
const textStep = 16

// maxRow is the most that an element of Zarr has here.
const maxRow = 1 << 20

// rows reads all elements of a variable of rows, and says of which type they are: t with texts
// that are long enough.
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

// fitTexts makes the texts of a type as long as the longest in rows.
func fitTexts(t *codec.Type, rows []byte) error {
	longest := make([]int, len(t.Fields))
	err := eachMember(t.Fields, rows, func(k int, stored []byte) error {
		if isText(&t.Fields[k]) {
			if !utf8.Valid(stored) {
				return fmt.Errorf("%q has a text that is not UTF-8: %w", t.Fields[k].Name, errors.ErrUnsupported)
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
		return fmt.Errorf("the longest texts of a row take %d bytes, more than %d: %w", t.Size, maxRow, errors.ErrUnsupported)
	}
	return nil
}

// layRows lays n rows out as elements of a type that has room for their texts.
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

// isText reports whether a field is one of the texts: of HDF5, nothing else is UTF-32.
func isText(f *codec.Field) bool { return f.Type.Kind == codec.FixedUTF32 }

// eachMember takes elements apart in which texts stand behind their length in 8 bytes.
func eachMember(fields []codec.Field, data []byte, visit func(k int, stored []byte) error) error {
	for len(data) > 0 {
		for k, f := range fields {
			size := uint64(f.Type.Size)
			if isText(&f) {
				if len(data) < 8 {
					return readers.Corruptf("a text of %q has no length", f.Name)
				}
				size, data = binary.LittleEndian.Uint64(data), data[8:]
			}
			if size > uint64(len(data)) {
				return readers.Corruptf("%q takes %d bytes, of which there are %d", f.Name, size, len(data))
			}
			if err := visit(k, data[:size]); err != nil {
				return err
			}
			data = data[size:]
		}
	}
	return nil
}
