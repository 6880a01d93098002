package thrift

import (
	"errors"
	"strings"
	"testing"

	"varve/readers"
)

// written returns a struct with every kind of field.
func written() []byte {
	var w Writer
	w.Begin()
	w.I32(1, -1)
	w.I64(3, 1<<62)
	w.True(4)
	w.Text(5, "text")
	w.Struct(6)
	w.I32(15, 7)
	w.End()
	w.Empty(7)
	w.List(8, Binary, 20)
	for range 20 {
		w.Bare("x")
	}
	w.List(9, Struct, 2)
	for n := range int32(2) {
		w.Begin()
		w.I32(1, n)
		w.End()
	}
	w.End()
	return w.Out
}

// values holds the content of the struct that written returns.
type values struct {
	number, large, inner, sum int64
	truth                     bool
	text, list                string
}

func (v *values) read(r *Reader) {
	for f := (Field{}); r.Next(&f); {
		switch f.ID {
		case 1:
			v.number = r.Integer(f)
		case 3:
			v.large = r.Integer(f)
		case 4:
			v.truth = f.Kind == True
		case 5:
			v.text = string(r.Bytes(f))
		case 6:
			r.Open(f)
			for f := (Field{}); r.Next(&f); {
				v.inner = r.Integer(f)
			}
		case 8:
			for range r.List(f, Binary, 1) {
				v.list += string(r.Bare())
			}
		case 9:
			for range r.List(f, Struct, 1) {
				for f := (Field{}); r.Next(&f); {
					v.sum += r.Integer(f)
				}
			}
		default:
			r.Skip(f)
		}
	}
}

func TestReadBack(t *testing.T) {
	data := written()
	r := NewReader(append(data, 0xff))
	var got values
	got.read(r)
	want := values{-1, 1 << 62, 7, 1, true, "text", strings.Repeat("x", 20)}
	if r.Err() != nil || got != want || r.Offset() != len(data) {
		t.Errorf("got %+v, %v after %d of %d bytes; want %+v", got, r.Err(), r.Offset(), len(data), want)
	}
	skipped := NewReader(data)
	for f := (Field{}); skipped.Next(&f); {
		skipped.Skip(f)
	}
	if skipped.Err() != nil || skipped.Offset() != len(data) {
		t.Errorf("skipped %d of %d bytes: %v", skipped.Offset(), len(data), skipped.Err())
	}
	for n := range data {
		cut := NewReader(data[:n])
		(&values{}).read(cut)
		if !errors.Is(cut.Err(), readers.ErrCorrupt) {
			t.Errorf("%d of %d bytes: %v", n, len(data), cut.Err())
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		data string
	}{
		{"an unknown type", "\x1d"},
		{"a list longer than the data", "\x19\xf8\xff\xff\xff\xff\x0f"},
		{"a map longer than the data", "\x1b\xff\xff\x03\x88"},
		{"a text longer than the data", "\x18\x05abc"},
		{"a varint without end", "\x15\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"},
		{"structs in structs", strings.Repeat("\x1c", 100)},
	} {
		r := NewReader([]byte(c.data))
		for f := (Field{}); r.Next(&f); {
			r.Skip(f)
		}
		if !errors.Is(r.Err(), readers.ErrCorrupt) {
			t.Errorf("%s: %v", c.name, r.Err())
		}
	}
}

func FuzzSkip(f *testing.F) {
	f.Add(written())
	f.Add([]byte("\x1b\x02\x85\x01a\x02\x01b\x04\x1a\x21\x01\x02\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader(data)
		for f := (Field{}); r.Next(&f); {
			r.Skip(f)
		}
		if r.Offset() > len(data) || r.Err() != nil && !errors.Is(r.Err(), readers.ErrCorrupt) {
			t.Errorf("%d of %d bytes: %v", r.Offset(), len(data), r.Err())
		}
	})
}
