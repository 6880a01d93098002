package icechunk

import (
	"encoding/hex"
	"reflect"
	"testing"
)

func TestFlexRoundTrip(t *testing.T) {
	for name, v := range map[string]any{
		"null":    nil,
		"true":    true,
		"int":     int64(-3),
		"uint":    uint64(1) << 63,
		"float":   1.5,
		"text":    "é\x00x",
		"blob":    []byte{1, 2},
		"empty":   map[string]any{},
		"vector":  []any{int64(1), "a", nil, []any{}},
		"nested":  map[string]any{"b": map[string]any{"z": true, "a": []any{2.5}}, "a": "x", "": nil},
		"config":  map[string]any{"virtual_chunk_containers": map[string]any{"file:///a/": container("file:///a/", S3{})}},
		"s3":      container("s3://bucket/", S3{Region: "eu", Anonymous: true}),
		"in turn": []any{map[string]any{"k": int64(7)}, map[string]any{"k": uint64(8)}},
	} {
		b, err := encodeFlex(v)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := decodeFlex(b); err != nil || !reflect.DeepEqual(got, v) {
			t.Errorf("%s: got %#v, %v, want %#v", name, got, err, v)
		}
	}
	if _, err := encodeFlex(struct{}{}); err == nil {
		t.Error("a struct was encoded")
	}
}

// TestFlexOfOthers reads buffers written by Google's library and by Icechunk: narrow widths, typed vectors,
// indirect numbers.
func TestFlexOfOthers(t *testing.T) {
	for _, test := range []struct {
		name, hex string
		want      any
	}{
		{"vector of int8", "03010203032c01", []any{int64(1), int64(2), int64(3)}},
		{"int", "0d0401", int64(13)},
		{"negative", "f30401", int64(-13)},
		{"bool", "016801", true},
		{"string", "0568656c6c6f00061401", "hello"},
		{"float", "000000400e04", 2.0},
	} {
		b, err := hex.DecodeString(test.hex)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeFlex(b); err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %#v, %v, want %#v", test.name, got, err, test.want)
		}
	}
}

func FuzzFlex(f *testing.F) {
	for _, v := range []any{nil, "text", []any{int64(1), true}, map[string]any{"a": map[string]any{"b": 1.5}}} {
		b, err := encodeFlex(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte{3, 1, 2, 3, 3, 0x2c, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := decodeFlex(b)
		if err != nil {
			return
		}
		again, err := encodeFlex(v)
		if err != nil {
			t.Fatalf("%#v cannot be written: %v", v, err)
		}
		if w, err := decodeFlex(again); err != nil || !equalFlex(v, w) {
			t.Fatalf("%#v was written, %#v read: %v", v, w, err)
		}
	})
}

// equalFlex compares values; NaN equals NaN.
func equalFlex(a, b any) bool {
	x, errX := encodeFlex(a)
	y, errY := encodeFlex(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
