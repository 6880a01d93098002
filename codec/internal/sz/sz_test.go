package sz

import (
	"bytes"
	_ "embed"
	"errors"
	"math/rand/v2"
	"testing"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/vectors"
	"varve/fixtures/soak"
)

//go:embed testdata/vectors.json
var recorded []byte

type vector = vectors.Chunk

func mustParse(t testing.TB, values []uint32) *Chunk {
	t.Helper()
	c, err := Parse(values)
	if err != nil {
		t.Fatalf("Parse(%v): %v", values, err)
	}
	return c
}

func TestDecodeAsTheLibrary(t *testing.T) {
	for _, v := range vectors.Parse[vector](t, recorded) {
		t.Run(v.Name, func(t *testing.T) { vectors.CheckDecode(t, v.Stored, v.Want, mustParse(t, v.Values).Decode) })
	}
}

// plain returns the streams of the vectors without the lossless stage, so that tests damage the stream itself.
func plain(t testing.TB) []vector {
	t.Helper()
	var vs []vector
	for _, v := range vectors.Parse[vector](t, recorded) {
		if c := mustParse(t, v.Values); c.count > leastCompressed {
			stream, err := new(workspace).unpack(v.Stored, c.Size())
			if err != nil {
				t.Fatalf("%s: %v", v.Name, err)
			}
			v.Stored = stream
			vs = append(vs, v)
		}
	}
	return vs
}

func TestDecodeRefusesTruncation(t *testing.T) {
	for _, v := range plain(t) {
		c := mustParse(t, v.Values)
		dst := make([]byte, len(v.Want))
		if n, err := c.Decode(dst, v.Stored); err != nil || !bytes.Equal(dst[:n], v.Want) {
			t.Errorf("%s: without the lossless stage: %v", v.Name, err)
		}
		if _, err := c.Decode(dst[:len(dst)-1], v.Stored); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: into a buffer that is too small: %v, want corrupt", v.Name, err)
		}
		// The encoder adds up to 9 unneeded bytes to a stream.
		for n := 0; n < len(v.Stored)-9; n += 1 + n/16 {
			if _, err := c.Decode(dst, v.Stored[:n]); !errors.Is(err, corrupt.Err) {
				t.Errorf("%s: %d of %d bytes: %v, want corrupt", v.Name, n, len(v.Stored), err)
			}
		}
	}
}

// TestDecodeSurvivesDamage changes random bytes. Decode must not panic, and an error must be marked as corrupt or
// unsupported.
func TestDecodeSurvivesDamage(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, v := range plain(t) {
		c := mustParse(t, v.Values)
		dst := make([]byte, len(v.Want))
		for range 50 {
			damaged := bytes.Clone(v.Stored)
			for range 1 + rng.IntN(3) {
				damaged[rng.IntN(min(len(damaged), 1+rng.IntN(len(damaged))))] = byte(rng.Uint32() >> rng.IntN(8))
			}
			_, err := c.Decode(dst, damaged)
			if err != nil && !errors.Is(err, corrupt.Err) && !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%s: %v is neither corrupt nor unsupported", v.Name, err)
			}
		}
	}
}

func TestDecodeRefusesByName(t *testing.T) {
	find := func(name string) vector {
		for _, v := range plain(t) {
			if v.Name == name {
				return v
			}
		}
		t.Fatalf("no vector %q", name)
		return vector{}
	}
	classic := find("lib f4 (9, 14) classic")
	blocks := find("f4 (7, 8, 9) smooth 0 0.01")
	wide := find("lib f8 (2, 3, 5, 6) classic")
	line := find("lib f4 (150,) classic")
	for _, c := range []struct {
		name   string
		v      vector
		at     int
		to     byte
		values []uint32
		says   string
	}{
		{"old version", classic, 2, 7, nil, "2 1 7"},
		{"Pastri", classic, 4 + 14, 103, nil, "Pastri"},
		{"transposed", classic, 4 + 14, 104, nil, "transposed"},
		{"time steps", classic, 4, 0x4c, nil, "time"},
		{"blocks of a line", line, 3, 0xc0, nil, "axis"},
		{"float32 of four axes", wide, 0, 2, []uint32{4, 0, 6, 5, 3, 2}, "float32"},
		{"big-endian tree", blocks, 4 + 28 + 8 + 4 + 4 + 4 + 4 + 4, 1, nil, "big-endian"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stored := bytes.Clone(c.v.Stored)
			stored[c.at] = c.to
			if c.values == nil {
				c.values = c.v.Values
			}
			_, err := mustParse(t, c.values).Decode(make([]byte, len(c.v.Want)), stored)
			if !errors.Is(err, errors.ErrUnsupported) || !vectors.Mentions(err, c.says) {
				t.Errorf("%v, want unsupported and %q", err, c.says)
			}
		})
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []uint32
		size   int
		err    error
	}{
		{"one axis", []uint32{1, 0, 0, 100}, 400, nil},
		{"with bounds", []uint32{2, 1, 5, 7, 0, 1, 2, 3, 4, 5, 6, 7, 8}, 280, nil},
		{"axes of length 1", []uint32{5, 3, 1, 5, 1, 7, 1}, 35, nil},
		{"only those", []uint32{3, 3, 1, 1, 1}, 1, nil},
		{"none", nil, 0, nil},
		{"three", []uint32{1, 0, 0}, 0, corrupt.Err},
		{"no axis", []uint32{0, 0, 0, 100}, 0, corrupt.Err},
		{"six axes", []uint32{6, 0, 1, 1, 1, 1, 1, 1}, 0, corrupt.Err},
		{"too few lengths", []uint32{3, 0, 1, 1}, 0, corrupt.Err},
		{"unknown type", []uint32{1, 10, 0, 100}, 0, corrupt.Err},
		{"length 0", []uint32{2, 0, 5, 0}, 0, corrupt.Err},
		{"too long", []uint32{1, 0, 1, 100}, 0, corrupt.Err},
		{"too long together", []uint32{3, 0, 1 << 16, 1 << 16, 2}, 0, corrupt.Err},
		{"five axes", []uint32{5, 0, 2, 2, 2, 2, 2}, 0, errors.ErrUnsupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			chunk, err := Parse(c.values)
			if !errors.Is(err, c.err) {
				t.Fatalf("%v, want %v", err, c.err)
			}
			if err == nil && chunk.Size() != c.size {
				t.Errorf("Size() = %d, want %d", chunk.Size(), c.size)
			}
		})
	}
}

func TestDecodeUncompressed(t *testing.T) {
	for _, c := range []struct {
		name    string
		values  []uint32
		stored  int
		room    int
		corrupt bool
	}{
		{"no values", nil, 5, 9, false},
		{"few", []uint32{1, 0, 0, 19}, 76, 76, false},
		{"fewer than there are", []uint32{1, 0, 0, 1}, 360, 360, false},
		{"too many bytes", []uint32{1, 0, 0, 19}, 77, 76, true},
		{"as many floats as are compressed elsewhere", []uint32{1, 1, 0, 20}, 160, 160, false},
		{"as many integers", []uint32{1, 5, 0, 20}, 40, 40, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			chunk := mustParse(t, c.values)
			src := bytes.Repeat([]byte{0, 7}, (c.stored+1)/2)[:c.stored]
			dst := make([]byte, max(chunk.Size(), c.room))
			n, err := chunk.Decode(dst, src)
			if c.corrupt != errors.Is(err, corrupt.Err) {
				t.Fatalf("%v, want corrupt: %v", err, c.corrupt)
			}
			if err == nil && !bytes.Equal(dst[:n], src) {
				t.Errorf("got %x, want %x", dst[:n], src)
			}
		})
	}
}

// FuzzDecode takes the filter's values from a vector, with any bytes as the stream.
func FuzzDecode(f *testing.F) {
	vs := plain(f)
	for i, v := range vs {
		f.Add(uint8(i), v.Stored)
	}
	f.Fuzz(func(t *testing.T, which uint8, stored []byte) {
		c := mustParse(t, vs[int(which)%len(vs)].Values)
		dst := bytes.Repeat([]byte{0xa5}, c.Size()+1)
		n, err := c.Decode(dst[:c.Size()], stored)
		if err != nil && !errors.Is(err, corrupt.Err) && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%v is neither corrupt nor unsupported", err)
		}
		if err == nil && n != c.Size() || dst[c.Size()] != 0xa5 {
			t.Errorf("%d bytes of %d, followed by %#x", n, c.Size(), dst[c.Size()])
		}
	})
}
