package bzip2

import (
	"testing"

	"varve/codec/internal/access/accesstest"
	"varve/codec/internal/vectors"
)

var format = accesstest.Format{
	Points: Points,
	Resume: func(room []byte, size int, _, src []byte, bit int) ([]byte, error) {
		return room[:size], Resume(room[:size], src, bit)
	},
	Room: func(size int) int { return size },
}

// joined returns all streams of libbz2 as one file, and its decoded bytes.
func joined(t testing.TB) (data, src []byte) {
	size := 0
	for _, v := range vectors.Parse[vector](t, recorded) {
		size += v.Size
		src = append(src, v.Stored...)
	}
	data = make([]byte, size)
	if n, err := Decode(data, src); err != nil || n != size {
		t.Fatalf("%d bytes, %v", n, err)
	}
	return data, src
}

func TestSpans(t *testing.T) {
	for _, v := range vectors.Parse[vector](t, recorded) {
		data := make([]byte, v.Size)
		if _, err := Decode(data, v.Stored); err != nil {
			t.Fatal(err)
		}
		format.Check(t, v.Name, data, v.Stored, 20)
	}
	data, src := joined(t)
	if n := format.Check(t, "all streams", data, src, 200); n < 10 {
		t.Errorf("%d points", n)
	}
	format.Damage(t, data, src, 200)
}

func FuzzResume(f *testing.F) {
	_, src := joined(f)
	f.Add(src[4:200], 100, 0)
	f.Fuzz(func(t *testing.T, src []byte, size, bit int) { format.Fuzz(t, size, bit, nil, src) })
}
