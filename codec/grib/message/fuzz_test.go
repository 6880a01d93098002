package message_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"varve/codec"
	"varve/codec/grib"
	"varve/codec/grib/message"
)

// FuzzOpen takes arbitrary bytes for a message, or for the sections of a field, and decodes up to 16,384 values. Errors must be
// codec.ErrCorrupt or errors.ErrUnsupported.
func FuzzOpen(f *testing.F) {
	names, err := filepath.Glob("../../../fixtures/grib/*.grib")
	if err != nil || len(names) == 0 {
		f.Fatal("no samples", err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ofKind := func(err error) {
			if err != nil && !errors.Is(err, codec.ErrCorrupt) && !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("error %v is neither codec.ErrCorrupt nor errors.ErrUnsupported", err)
			}
		}
		ofKind(message.Verify(b, 1))
		field, _, err := message.Open(b)
		if ofKind(err); err != nil {
			return
		}
		info, err := field.Describe()
		if ofKind(err); err == nil && info.Values <= 1<<14 {
			ofKind(grib.Decode(make([]float64, info.Values), field))
		}
	})
}
