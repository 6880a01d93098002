package lzw

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"varve/codec/internal/corrupt"
)

// samples are bytes of many kinds.
func samples() [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	list := [][]byte{nil, {7}, bytes.Repeat([]byte{0}, 100_000), bytes.Repeat([]byte("abc"), 50_000)}
	for _, n := range []int{2, 255, 256, 257, 4095, 70_000} {
		noise, steps := make([]byte, n), make([]byte, n)
		for i := range noise {
			noise[i], steps[i] = byte(r.Uint32()), byte(i/9+r.IntN(3))
		}
		list = append(list, noise, steps)
	}
	return list
}

func TestRoundTrip(t *testing.T) {
	for i, want := range samples() {
		got := make([]byte, len(want))
		n, err := Decode(got, Append(nil, want))
		if err != nil || n != len(want) || !bytes.Equal(got, want) {
			t.Errorf("sample %d: %d of %d bytes, %v, equal: %v", i, n, len(want), err, bytes.Equal(got, want))
		}
	}
}

func TestDecode(t *testing.T) {
	// The example of the specification, and the same strings as programs before 1990 wrote them.
	const example = "\x80\x01\xe0\x40\x80\x44\x08\x0c\x06\x80\x80"
	const old = "\x00\x0f\x08\x44\x80\x40\xa0\x01\x03\x01\x01"
	for name, c := range map[string]struct {
		src  string
		size int
		want string
	}{
		"example":            {example, 9, "\x07\x07\x07\x08\x08\x07\x07\x06\x06"},
		"room for more":      {example, 90, "\x07\x07\x07\x08\x08\x07\x07\x06\x06"},
		"less than it holds": {example, 6, "\x07\x07\x07\x08\x08\x07"},
		"no code at the end": {example[:10], 9, "\x07\x07\x07\x08\x08\x07\x07\x06\x06"},
		"cut off":            {example[:4], 9, "\x07\x07\x07"},
		"old":                {old, 9, "\x07\x07\x07\x08\x08\x07\x07\x06\x06"},
		"nothing":            {"", 9, ""},
		"only a clear code":  {"\x80\x00", 9, ""},
	} {
		got := make([]byte, c.size)
		n, err := Decode(got, []byte(c.src))
		if string(got[:n]) != c.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", name, got[:n], err, c.want)
		}
	}
}

func TestBroken(t *testing.T) {
	for name, src := range map[string][]byte{
		"a string before any byte": {0x80, 0x40, 0x80},
		"a string far ahead":       {0x80, 0x00, 0x3f, 0xff},
	} {
		if n, err := Decode(make([]byte, 100), src); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range samples() {
		if len(s) < 5000 {
			f.Add(Append(nil, s), len(s))
		}
	}
	f.Add([]byte{0, 1, 2, 3, 4}, 9)
	f.Fuzz(func(t *testing.T, src []byte, size int) {
		if size < 0 || size > 1<<16 {
			return
		}
		room := make([]byte, size+8)
		if n, _ := Decode(room[:size:size], src); n > size {
			t.Errorf("%d of %d bytes", n, size)
		}
		if !bytes.Equal(room[size:], make([]byte, 8)) {
			t.Error("bytes were written past the end")
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	src := Append(nil, samples()[14])
	dst := make([]byte, 70_000)
	b.SetBytes(int64(len(dst)))
	for b.Loop() {
		if n, err := Decode(dst, src); n != len(dst) || err != nil {
			b.Fatal(n, err)
		}
	}
}
