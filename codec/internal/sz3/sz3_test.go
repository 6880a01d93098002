package sz3

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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

func named(t testing.TB, name string) vector {
	t.Helper()
	for _, v := range vectors.Parse[vector](t, recorded) {
		if strings.HasPrefix(v.Name, name) {
			return v
		}
	}
	t.Fatalf("no vector %q", name)
	return vector{}
}

func TestDecodeAsTheLibrary(t *testing.T) {
	for _, v := range vectors.Parse[vector](t, recorded) {
		t.Run(v.Name, func(t *testing.T) { vectors.CheckDecode(t, v.Stored, v.Want, mustParse(t, v.Values).Decode) })
	}
}

// compressed returns the vectors that the filter compressed.
func compressed(t testing.TB) []vector {
	t.Helper()
	return slices.DeleteFunc(vectors.Parse[vector](t, recorded), func(v vector) bool {
		return mustParse(t, v.Values).count < leastCompressed
	})
}

// opened is a vector without the lossless stage, so that tests damage the body itself.
type opened struct {
	vector
	chunk *Chunk
	conf  config
	body  []byte
}

func open(t testing.TB) []opened {
	t.Helper()
	var all []opened
	for _, v := range compressed(t) {
		c := mustParse(t, v.Values)
		conf, packed, err := c.split(v.Stored)
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		if conf.bound == 0 {
			continue
		}
		body, err := new(workspace).unpack(packed, c)
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		all = append(all, opened{v, c, conf, body})
	}
	return all
}

func find(t *testing.T, name string) opened {
	t.Helper()
	for _, o := range open(t) {
		if strings.HasPrefix(o.Name, name) {
			return o
		}
	}
	t.Fatalf("no vector %q", name)
	return opened{}
}

// decode decodes a body, and fails the test if an error is not marked.
func (o opened) decode(t testing.TB, body, dst []byte) error {
	t.Helper()
	err := o.chunk.elements(new(workspace), o.conf, body, dst)
	if err != nil && !errors.Is(err, corrupt.Err) && !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%s: %v is neither corrupt nor unsupported", o.Name, err)
	}
	return err
}

func TestDecodeRefusesTruncation(t *testing.T) {
	for _, v := range compressed(t) {
		c := mustParse(t, v.Values)
		dst := make([]byte, len(v.Want))
		if _, err := c.Decode(dst[:len(dst)-1], v.Stored); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: into a buffer that is too small: %v, want corrupt", v.Name, err)
		}
		for n := 0; n < len(v.Stored); n += 1 + n/16 {
			// In a truncated chunk, any bytes can be read as the configuration.
			if _, err := c.Decode(dst, v.Stored[:n]); !errors.Is(err, corrupt.Err) && !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%s: %d of %d bytes: %v, want corrupt or unsupported", v.Name, n, len(v.Stored), err)
			}
		}
	}
	for _, o := range open(t) {
		dst := make([]byte, len(o.Want))
		if err := o.decode(t, o.body, dst); err != nil || !bytes.Equal(dst, o.Want) {
			t.Errorf("%s: without the lossless stage: %v", o.Name, err)
		}
		for n := 0; n < len(o.body); n += 1 + n/16 {
			if err := o.decode(t, o.body[:n], dst); !errors.Is(err, corrupt.Err) {
				t.Errorf("%s: %d of %d bytes of the body: %v, want corrupt", o.Name, n, len(o.body), err)
			}
		}
	}
}

// TestDecodeSurvivesDamage changes random bytes. Decode must not panic, and an error must be marked as corrupt or
// unsupported.
func TestDecodeSurvivesDamage(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, o := range open(t) {
		dst := make([]byte, len(o.Want))
		for range 50 {
			damaged := bytes.Clone(o.body)
			for range 1 + rng.IntN(3) {
				damaged[rng.IntN(1+rng.IntN(len(damaged)))] = byte(rng.Uint32() >> rng.IntN(8))
			}
			o.decode(t, damaged, dst)
		}
	}
}

// Offsets in the configuration of two axes, and in bodies.
const (
	confAlgorithm  = 1 + 2*8 + 8
	confPredictors = confAlgorithm + 2 + 2*8
	confParallel   = confPredictors + 4 + 24
	confBytes      = confParallel + 1

	bodyBlock2  = 2 * 8 // for two axes
	bodyBorder3 = 12    // for three axes
	bodyMean3   = 44 + 8
)

func TestDecodeRefusesConfigurations(t *testing.T) {
	plane, curves := named(t, "lib f4 (19, 14) by planes"), named(t, "lib f4 (3, 4, 5, 6) by both")
	verbatim := named(t, "f4 constant, no bound")
	for _, c := range []struct {
		name string
		of   vector
		at   int // relative to the start of the configuration
		to   byte
		want error
		says string
	}{
		{"no axes", plane, 0, 0, corrupt.Err, "0"},
		{"five axes", plane, 0, 5, corrupt.Err, "5"},
		{"another length", plane, 1, 20, corrupt.Err, "20 14"},
		{"algorithm of later versions", plane, confAlgorithm, 3, errors.ErrUnsupported, "3"},
		{"no predictor", plane, confPredictors + 2, 0, corrupt.Err, "predictor"},
		{"parallel", plane, confParallel, 1, errors.ErrUnsupported, "threads"},
		{"of version 3.3", plane, -1, 0, errors.ErrUnsupported, "3 2"},
		{"longer than the chunk", plane, confBytes + 2, 255, corrupt.Err, "configuration"},
		{"too short", plane, confBytes, confBytes - 1, corrupt.Err, "configuration"},
		{"too long", plane, confBytes, confBytes + 1, corrupt.Err, "configuration"},
		{"elements as they are, of other lengths", verbatim, 1, 4, corrupt.Err, "4 8"},
		{"curves of four axes", curves, confPredictors + 2*8 + 3, 1, errors.ErrUnsupported, "four axes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			chunk := mustParse(t, c.of.Values)
			stored := bytes.Clone(c.of.Stored)
			n := binary.LittleEndian.Uint32(stored[len(stored)-4:])
			if c.at < 0 {
				binary.LittleEndian.PutUint32(stored, laterMagic)
			} else {
				stored[len(stored)-4-int(n)+c.at] = c.to
			}
			_, err := chunk.Decode(make([]byte, len(c.of.Want)), stored)
			if !errors.Is(err, c.want) || !vectors.Mentions(err, c.says) {
				t.Errorf("%v, want %v and %q", err, c.want, c.says)
			}
		})
	}
}

func TestDecodeRefusesBodies(t *testing.T) {
	plane, two := find(t, "lib f4 (19, 14) by planes"), find(t, "lib f8 (19, 14) by two orders")
	three, cubic := find(t, "lib f4 lorenzo over 3 axes"), find(t, "lib u1 extremes, cubic")
	// The body of a plane: lengths, block, predictor, number of coefficients.
	const atCoefficients = bodyBlock2 + 4 + 1
	// The body with two predictors: lengths, block, predictors, number of blocks, lowest selection.
	const atSelection = bodyBlock2 + 4 + 1 + 1
	for _, c := range []struct {
		name string
		of   opened
		at   int
		to   []byte
		want error
		says string
	}{
		{"interpolation of other lengths", cubic, 0, []byte{8}, corrupt.Err, "8 10"},
		{"interpolation in odd blocks", cubic, bodyBlock2, []byte{31}, corrupt.Err, "31"},
		{"interpolation in no blocks", cubic, bodyBlock2, []byte{0}, corrupt.Err, "0"},
		{"third interpolator", cubic, bodyBlock2 + 4, []byte{2}, corrupt.Err, "2"},
		{"third order of axes", cubic, bodyBlock2 + 8, []byte{2}, corrupt.Err, "2"},
		{"fewer stored than said", cubic, bodyBlock2 + 12 + 13, []byte{0xff, 0xff}, corrupt.Err, "65535 left"},
		{"blocks of other lengths", plane, 0, []byte{8}, corrupt.Err, "8 14"},
		{"blocks of 1", plane, bodyBlock2, []byte{1}, errors.ErrUnsupported, "blocks element"},
		{"blocks of 0", plane, bodyBlock2, []byte{0}, corrupt.Err, "0"},
		{"too many coefficients", plane, atCoefficients, []byte{255}, corrupt.Err, "255"},
		{"no coefficients", plane, atCoefficients, []byte{0}, corrupt.Err, ""},
		{"predictors of too many blocks", two, atSelection, []byte{255}, corrupt.Err, "255"},
		{"third of two predictors", two, atSelection + 8, []byte{2}, corrupt.Err, "2"},
		{"border of 1", three, bodyBorder3, []byte{1}, errors.ErrUnsupported, "1"},
		{"a mean", three, bodyMean3, []byte{1}, errors.ErrUnsupported, "mean"},
		{"more planes than blocks", three, bodyMean3 + 1 + 4, []byte{0, 1}, corrupt.Err, "256"},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := bytes.Clone(c.of.body)
			copy(body[c.at:], c.to)
			err := c.of.decode(t, body, make([]byte, len(c.of.Want)))
			if !errors.Is(err, c.want) || err != nil && !vectors.Mentions(err, c.says) {
				t.Errorf("%v, want %v and %q", err, c.want, c.says)
			}
		})
	}
}

// TestDecodeMissingSelection removes the selection of the last block. The encoder does so for a thin block, and
// the decoder then uses order 1.
func TestDecodeMissingSelection(t *testing.T) {
	const atSelection = bodyBlock2 + 4 + 1 + 1
	o := find(t, "lib f8 (19, 14) by two orders")
	body, dst := bytes.Clone(o.body), make([]byte, len(o.Want))
	if body[atSelection] != 2 {
		t.Fatalf("%d blocks, want 2", body[atSelection])
	}
	body[atSelection] = 1
	if err := o.decode(t, body, dst); err != nil {
		t.Fatal(err)
	}
	if first := 16 * 14 * 8; !bytes.Equal(dst[:first], o.Want[:first]) {
		t.Error("the first block differs")
	}
}

// TestDecodeBoundsAllocation decodes bodies that claim to be larger than a chunk can be.
func TestDecodeBoundsAllocation(t *testing.T) {
	v := named(t, "lib f4 (19, 14) by planes")
	c := mustParse(t, v.Values)
	for _, size := range []uint64{uint64(c.room()) + 1, math.MaxInt64, math.MaxUint64} {
		stored := bytes.Clone(v.Stored)
		binary.LittleEndian.PutUint64(stored, size)
		if _, err := c.Decode(make([]byte, len(v.Want)), stored); !errors.Is(err, corrupt.Err) || !vectors.Mentions(err, fmt.Sprint(c.room())) {
			t.Errorf("body of %d bytes: %v, want corrupt, at most %d", size, err, c.room())
		}
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
		{"axes of length 1", []uint32{4, 3, 1, 5, 1, 7}, 35, nil},
		{"none", nil, 0, nil},
		{"five axes of 16 elements", []uint32{5, 3, 2, 2, 2, 2, 1}, 16, nil},
		{"three", []uint32{1, 0, 0}, 0, corrupt.Err},
		{"no axis", []uint32{0, 0, 0, 100}, 0, corrupt.Err},
		{"too few lengths", []uint32{3, 0, 1, 1}, 0, corrupt.Err},
		{"unknown type", []uint32{1, 10, 0, 100}, 0, corrupt.Err},
		{"length 0", []uint32{2, 0, 5, 0}, 0, corrupt.Err},
		{"too long", []uint32{1, 0, 1, 100}, 0, corrupt.Err},
		{"too long together", []uint32{3, 0, 1 << 16, 1 << 16, 2}, 0, corrupt.Err},
		{"five axes", []uint32{5, 0, 2, 2, 2, 2, 2}, 0, errors.ErrUnsupported},
		{"version 3.2", []uint32{0xf342f310, 0x03020001, 2, 20, 20}, 0, errors.ErrUnsupported},
		{"version 3.3", []uint32{0x0508022b, 0x01906401, 0, 0}, 0, errors.ErrUnsupported},
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
	} {
		t.Run(c.name, func(t *testing.T) {
			src := bytes.Repeat([]byte{0, 7}, (c.stored+1)/2)[:c.stored]
			dst := make([]byte, c.room)
			n, err := mustParse(t, c.values).Decode(dst, src)
			if c.corrupt != errors.Is(err, corrupt.Err) {
				t.Fatalf("%v, want corrupt: %v", err, c.corrupt)
			}
			if err == nil && !bytes.Equal(dst[:n], src) {
				t.Errorf("got %x, want %x", dst[:n], src)
			}
		})
	}
}

// FuzzDecode takes the filter's values from a vector, with any bytes as the chunk.
func FuzzDecode(f *testing.F) {
	vs := compressed(f)
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

// FuzzElements starts after the lossless stage.
func FuzzElements(f *testing.F) {
	all := open(f)
	for i, o := range all {
		f.Add(uint8(i), o.body)
	}
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		o := all[int(which)%len(all)]
		o.decode(t, body, make([]byte, o.chunk.Size()))
	})
}
