package message_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"os"
	"testing"

	"varve/codec/grib"
	"varve/codec/grib/message"
)

// TestOpenAsEcCodes opens the messages that the tests of package grib have recorded, and compares their values with those of ecCodes.
func TestOpenAsEcCodes(t *testing.T) {
	text, err := os.ReadFile("../testdata/messages.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Name            string
		Message, Values []byte
		Error           string
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.Error != "" {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			r, err := zlib.NewReader(bytes.NewReader(m.Values))
			if err != nil {
				t.Fatal(err)
			}
			want, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			f, _, err := message.Open(m.Message)
			if err != nil {
				t.Fatal(err)
			}
			info, err := f.Describe()
			if err != nil {
				t.Fatal(err)
			}
			values := make([]float64, info.Values)
			if err := grib.Decode(values, f); err != nil {
				t.Fatal(err)
			}
			var got []byte
			for _, v := range values {
				got = binary.LittleEndian.AppendUint64(got, math.Float64bits(v))
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%d values differ from the %d values of ecCodes", len(values), len(want)/8)
			}
		})
	}
}
