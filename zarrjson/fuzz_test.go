package zarrjson

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// seedDocuments adds the documents of the other tests: goldens, refusals, and more.
func seedDocuments(f *testing.F, kinds ...string) {
	for _, line := range lines(f, "documents.jsonl") {
		for _, kind := range kinds {
			if mustText(f, line.member("kind")) != kind {
				continue
			}
			if doc := line.member("doc"); doc.raw != nil {
				f.Add(doc.raw)
			} else {
				f.Add([]byte(mustText(f, line.member("text"))))
			}
		}
	}
}

// checkError checks that an error is an Error, and that no result comes with it.
func checkError(t *testing.T, nothing bool, err error) {
	var e *Error
	if !errors.As(err, &e) || !nothing || errors.Is(err, errors.ErrUnsupported) == errors.Is(err, corrupt) {
		t.Fatalf("%v; nothing: %v", err, nothing)
	}
}

// encoder is the method that every document type has.
type encoder interface{ Encode(Layout) ([]byte, error) }

// checkRoundTrip writes a document in both layouts, reads each, and checks that the
// results equal the document and are written as the same bytes.
func checkRoundTrip(t *testing.T, doc encoder, read func([]byte) (encoder, error)) {
	for _, layout := range []Layout{Indented, Compact} {
		written, err := doc.Encode(layout)
		if err != nil {
			t.Fatalf("read, but not written: %v", err)
		}
		again, err := read(written)
		if err != nil {
			t.Fatalf("%v:\n%s", err, written)
		}
		if normalise(doc); layout == Indented && !reflect.DeepEqual(again, doc) {
			t.Fatalf("read as another document:\n%s", written)
		}
		rewritten, err := again.Encode(layout)
		if err != nil || string(rewritten) != string(written) {
			t.Fatalf("rewritten (%v) as\n%s, not\n%s", err, rewritten, written)
		}
		if !strings.Contains(string(written), "NaN") && !strings.Contains(string(written), "Infinity") && !json.Valid(written) {
			t.Fatalf("not JSON:\n%s", written)
		}
	}
}

// normalise adds the configuration that a writer adds to codecs without one.
func normalise(doc any) {
	switch d := doc.(type) {
	case *Array:
		for i, spec := range d.Codecs {
			if raw, err := spec.MarshalJSON(); err == nil && spec.Config == nil && strings.HasSuffix(string(raw), "{}}") {
				d.Codecs[i].Config = json.RawMessage("{}")
			}
		}
	case *Group:
		if d.Consolidated == nil {
			return
		}
		for _, m := range d.Consolidated.Members {
			if m.Array != nil {
				normalise(m.Array)
			} else {
				normalise(m.Group)
			}
		}
	}
}

func FuzzArray(f *testing.F) {
	seedDocuments(f, "v3.array")
	for _, c := range arrayRefusals() {
		if len(c.doc) < 1000 {
			f.Add([]byte(c.doc))
		}
	}
	f.Add([]byte(rectilinear("[5]", "[[[1,9000000000000000000]]]", `,"encoded_chunk_shapes":[[[2,4500000000000000000]]]`)))
	f.Fuzz(func(t *testing.T, doc []byte) {
		a, err := ParseArray(doc)
		if err != nil {
			checkError(t, a == nil, err)
			return
		}
		checkRoundTrip(t, a, func(b []byte) (encoder, error) { return ParseArray(b) })
		if v2, attributes, err := a.ToV2(V2Options{Separator: '.'}); err == nil {
			if _, err := v2.ToV3(attributes, KeepFill); err != nil && errorPath(err) != "attributes._ARRAY_DIMENSIONS" {
				t.Fatalf("converted to version 2, but not back: %v", err)
			}
		}
	})
}

func FuzzGroup(f *testing.F) {
	seedDocuments(f, "zarr.json")
	f.Fuzz(func(t *testing.T, doc []byte) {
		g, err := ParseGroup(doc)
		if err != nil {
			checkError(t, g == nil, err)
			return
		}
		checkRoundTrip(t, g, func(b []byte) (encoder, error) { return ParseGroup(b) })
	})
}

func FuzzV2Array(f *testing.F) {
	seedDocuments(f, "v2.array", ".zarray")
	for i, line := range lines(f, "fills.jsonl") {
		if i%5 == 0 && string(line.member("format").raw) == "2" {
			f.Add([]byte(withV2("dtype", string(line.member("data_type").raw), "fill_value", "null")))
		}
	}
	f.Add([]byte(withV2("dtype", `[["a",">i4"],["b",[["c","<M8[10s]"]]]]`, "fill_value", `"AAAAAQAAAAAAAAAA"`)))
	f.Fuzz(func(t *testing.T, doc []byte) {
		a, err := ParseV2Array(doc)
		if err != nil {
			checkError(t, a == nil, err)
			return
		}
		checkRoundTrip(t, a, func(b []byte) (encoder, error) { return ParseV2Array(b) })
		v3, err := a.ToV3(Attributes{}, MaskFill)
		if err != nil {
			return
		}
		written, err := v3.Encode(Compact)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseArray(written); err != nil {
			t.Fatalf("%v: %s", err, written)
		}
	})
}

func FuzzV2Consolidated(f *testing.F) {
	seedDocuments(f, ".zmetadata")
	f.Add([]byte(`{"metadata":{"x/.zattrs":{},".zgroup":{"zarr_format":2},"x/.zgroup":{"zarr_format":2}},"record_size":1}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		c, err := ParseV2Consolidated(doc)
		if err != nil {
			checkError(t, c == nil, err)
			return
		}
		checkRoundTrip(t, c, func(b []byte) (encoder, error) { return ParseV2Consolidated(b) })
	})
}

func FuzzAttributes(f *testing.F) {
	f.Add([]byte(`{ "a" : 1, "b":[NaN , {}] }`), "a", []byte(`{"x": 1}`))
	f.Add([]byte("{\n\"a\":\"\\ud83d\\ude00\"}"), "é", []byte(`"\u0000"`))
	f.Fuzz(func(t *testing.T, doc []byte, name string, raw []byte) {
		a, err := ParseAttributes(doc)
		if err != nil {
			checkError(t, a.raw == nil, err)
			return
		}
		n, had := a.Len(), 0
		if _, ok := a.Get(name); ok {
			had = 1
		}
		if a.Set(name, raw) != nil {
			return
		}
		if a, err = ParseAttributes(a.JSON()); err != nil || a.Len() != n+1-had {
			t.Fatalf("%v: %s", err, a.JSON())
		}
		if !a.Delete(name) {
			t.Fatalf("%q is not in %s", name, a.JSON())
		}
		if a, err = ParseAttributes(a.JSON()); err != nil || a.Len() != n-had {
			t.Fatalf("%v: %s", err, a.JSON())
		}
	})
}

func FuzzFill(f *testing.F) {
	for _, line := range lines(f, "fills.jsonl") {
		if string(line.member("format").raw) == "3" {
			for _, pair := range line.member("fills").elements() {
				parts, _ := pair.readList("")
				f.Add(line.member("data_type").raw, parts[0].raw)
			}
		}
	}
	f.Fuzz(func(t *testing.T, dataType, fill []byte) {
		d, err := ParseDataType(dataType)
		if err != nil {
			checkError(t, d.docJSON == nil, err)
			return
		}
		element, err := d.ParseFill(fill)
		if err != nil {
			checkError(t, element == nil, err)
			return
		}
		written, err := d.FillJSON(element)
		if err != nil {
			t.Fatal(err)
		}
		again, err := d.ParseFill(written)
		if err != nil || string(again) != string(element) {
			t.Fatalf("%s is %x, written %s and read %x (%v)", fill, element, written, again, err)
		}
	})
}

// errorPath returns the path of an Error, or "" for other errors.
func errorPath(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Path
	}
	return ""
}
