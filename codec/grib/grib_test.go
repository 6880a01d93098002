package grib_test

import (
	"bytes"
	"compress/zlib"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"testing"

	"varve/codec/grib"
)

//go:embed testdata/messages.json
var recorded []byte

// message is a message that ecCodes wrote or read; testdata/generate.py makes them.
type message struct {
	Name    string
	Message []byte
	Values  []byte // float64, little-endian; messages decompresses them
	Error   string // ecCodes' error if it does not read the message
}

func messages(t testing.TB, lines []byte) []message {
	t.Helper()
	var all []message
	if err := json.Unmarshal(lines, &all); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if all[i].Error != "" {
			continue
		}
		r, err := zlib.NewReader(bytes.NewReader(all[i].Values))
		if err != nil {
			t.Fatal(err)
		}
		if all[i].Values, err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestDecodeAsEcCodes(t *testing.T) {
	for _, m := range messages(t, recorded) {
		t.Run(m.Name, func(t *testing.T) { checkMessage(t, m) })
	}
}

// checkMessage compares the values of the only field of a message with those that ecCodes reads.
func checkMessage(t *testing.T, m message) {
	t.Helper()
	all := split(m.Message)
	if len(all) != 1 {
		t.Fatalf("the message has %d fields, want 1", len(all))
	}
	info, err := all[0].Describe()
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float64, info.Values)
	if err := grib.Decode(got, all[0]); err != nil {
		t.Fatal(err)
	}
	if 8*len(got) != len(m.Values) {
		t.Fatalf("%d values, want %d", len(got), len(m.Values)/8)
	}
	for i, v := range got {
		want := math.Float64frombits(binary.LittleEndian.Uint64(m.Values[8*i:]))
		if math.Float64bits(v) != math.Float64bits(want) {
			t.Fatalf("value %d of %d is %v, want %v", i, len(got), v, want)
		}
		if info.Constant && v != info.Value {
			t.Fatalf("the field is constant, but value %d is %v, want %v", i, v, info.Value)
		}
	}
}
