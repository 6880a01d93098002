package raw

import (
	"bytes"
	"context"
	"math"
	"strconv"
	"strings"

	"varve/readers"
	"varve/readers/source"
)

// field is a value of a header of text.
type field struct {
	key   string
	value string
	at    int64 // offset of its line
}

// mostFields is the number of fields that a header of text may have.
const mostFields = 1 << 13

// fields are the values of a header by key, in order.
type fields struct {
	src   *source.Source
	list  []field
	index map[string]int // in list
}

// add adds a field, whose key must be new.
func (f *fields) add(x field) error {
	if _, known := f.index[x.key]; known {
		return failure(f.src, x.at, readers.Corruptf("the field %q occurs twice", x.key))
	}
	if len(f.list) == mostFields {
		return failure(f.src, x.at, unsupported("more than %d fields", mostFields))
	}
	if f.index == nil {
		f.index = map[string]int{}
	}
	f.index[x.key] = len(f.list)
	f.list = append(f.list, x)
	return nil
}

func (f *fields) lookup(key string) *field {
	if i, ok := f.index[key]; ok {
		return &f.list[i]
	}
	return nil
}

// text returns a value without the blanks around it, or absent.
func (f *fields) text(key, absent string) string {
	if x := f.lookup(key); x != nil {
		return strings.TrimSpace(x.value)
	}
	return absent
}

// fail returns the error of a field.
func (f *fields) fail(key string, err error) error {
	at := int64(0)
	if x := f.lookup(key); x != nil {
		at = x.at
	}
	return failure(f.src, at, err)
}

// integer returns an integer from least up to most, or absent if the field does not exist. A field without a default must exist.
func (f *fields) integer(key string, least, most, absent int64) (int64, error) {
	x := f.lookup(key)
	if x == nil {
		if absent < least {
			return 0, f.fail(key, readers.Corruptf("the header has no %q", key))
		}
		return absent, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(x.value), 10, 64)
	if err != nil || n < least || n > most {
		return 0, f.fail(key, readers.Corruptf("%s is %.40q, want an integer from %d to %d", key, strings.TrimSpace(x.value), least, most))
	}
	return n, nil
}

// numbers returns the numbers of a list, or nil if one of its words is no number.
func numbers(words []string) (list []float64) {
	for _, w := range words {
		v, err := strconv.ParseFloat(strings.TrimSpace(w), 64)
		if err != nil && !math.IsInf(v, 0) {
			return nil
		}
		list = append(list, v)
	}
	return list
}

// readText returns the bytes of a source that is a text.
func readText(ctx context.Context, src *source.Source) ([]byte, error) {
	if src.Size() > maxHeader {
		return nil, failure(src, 0, unsupported("a header of %d bytes (limit %d)", src.Size(), maxHeader))
	}
	return src.View(ctx, 0, int(src.Size()))
}

// lines calls each with the lines of a text and their offsets, without their ends, until it returns false.
func lines(text []byte, each func(at int64, line string) bool) {
	for at := 0; at < len(text); {
		line, _, _ := bytes.Cut(text[at:], []byte("\n"))
		if !each(int64(at), strings.TrimSuffix(string(line), "\r")) {
			return
		}
		at += len(line) + 1
	}
}
