package codec

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
)

func TestReshape(t *testing.T) {
	for _, c := range []struct {
		shape  string
		in     []int64
		stored []int64 // nil: refused
	}{
		{"[[0,1],[2],3]", []int64{100, 50, 64, 3}, []int64{5000, 64, 3}}, // the example of the specification
		{"[-1]", []int64{2, 3}, []int64{6}},
		{"[6]", []int64{2, 3}, []int64{6}},
		{"[[0,1]]", []int64{2, 3}, []int64{6}},
		{"[[0],3,1]", []int64{2, 3}, []int64{2, 3, 1}},
		{"[3,-1]", []int64{2, 3}, []int64{3, 2}},
		{"[-1,[1]]", []int64{2, 3}, []int64{2, 3}},
		{"[[],6]", []int64{2, 3}, []int64{1, 6}},
		{"[4]", []int64{2, 3}, nil}, {"[4,-1]", []int64{2, 3}, nil}, {"[[0]]", []int64{2, 3}, nil}, {"[[1],2]", []int64{2, 3}, nil}, {"[3,[0]]", []int64{2, 3}, nil},
		{"[4294967296,4294967296,6]", []int64{2, 3}, nil}, {"[9223372036854775807,2,-1]", []int64{2, 3}, nil},
		{"[[1],[0]]", []int64{2, 3}, nil}, {"[[1,0]]", []int64{2, 3}, nil}, {"[[0,2]]", []int64{2, 3}, nil}, {"[-1,-1]", []int64{2, 3}, nil}, {"[0,6]", []int64{2, 3}, nil},
		{"[]", []int64{2, 3}, nil}, {"6", []int64{2, 3}, nil}, {`["6"]`, []int64{2, 3}, nil}, {"[1.5,4]", []int64{2, 3}, nil}, {"null", []int64{2, 3}, nil},
	} {
		form := Form{Type: int16Type, Shape: c.in}
		p, err := New(specs(t, fmt.Sprintf(`[{"name":"reshape","configuration":{"shape":%s}},%s]`, c.shape, littleBytes)), form)
		if c.stored == nil {
			if err == nil {
				t.Errorf("%s of %v: %v", c.shape, c.in, p.innermost().Shape)
			}
			checkMessage(t, c.shape, err)
			continue
		}
		if err != nil || !slices.Equal(p.innermost().Shape, c.stored) {
			t.Errorf("%s of %v: %v", c.shape, c.in, err)
			continue
		}
		if p.Form().Count() > 100 {
			continue
		}
		elems := NewElems(form)
		for i := range elems.Fixed {
			elems.Fixed[i] = byte(i)
		}
		stored, err := p.Encode(nil, elems)
		if err != nil || !bytes.Equal(stored, elems.Fixed) {
			t.Errorf("%s: stored as %v, %v", c.shape, stored, err)
		}
		got := NewElems(form)
		if err := p.Decode(got, stored); err != nil || !bytes.Equal(got.Fixed, elems.Fixed) {
			t.Errorf("%s: decoded as %v, %v", c.shape, got.Fixed, err)
		}
	}
}

// TestReshapedAndTransposed: a transposition after reshape moves the reshaped axes.
func TestReshapedAndTransposed(t *testing.T) {
	form := Form{Type: Type{Kind: Uint, Size: 1}, Shape: []int64{2, 2, 3}}
	p := mustNew(t, `[{"name":"reshape","configuration":{"shape":[[0,1],[2]]}},{"name":"transpose","configuration":{"order":[1,0]}},`+littleBytes+`]`, form)
	elems := NewElems(form)
	for i := range elems.Fixed {
		elems.Fixed[i] = byte(i)
	}
	stored, err := p.Encode(nil, elems)
	if want := []byte{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11}; err != nil || !bytes.Equal(stored, want) {
		t.Errorf("stored as %v, %v; want %v", stored, err, want)
	}
	got := NewElems(form)
	if err := p.Decode(got, stored); err != nil || !bytes.Equal(got.Fixed, elems.Fixed) {
		t.Errorf("decoded as %v, %v", got.Fixed, err)
	}
}

func conditionally(inner, more string) string {
	return `[` + littleBytes + `,{"name":"conditional","configuration":{"codecs":[` + inner + `]` + more + `}}]`
}

const shuffledZlib = `{"name":"numcodecs.shuffle","configuration":{"elementsize":4}},{"name":"numcodecs.zlib","configuration":{"level":1}},{"name":"crc32c"}`

// TestConditional decodes chunks with every set of applied codecs, and encodes chunks with all or none.
func TestConditional(t *testing.T) {
	form := Form{Type: float32Type, Shape: []int64{64}}
	p := mustNew(t, conditionally(shuffledZlib, ""), form)
	plain := bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 7, 8}, 32)
	inner := p.bytesCodecs[0].(*conditional).codecs
	for mask := range 8 {
		data := plain
		for i, c := range inner {
			if mask>>i&1 == 1 {
				var err error
				if data, err = c.Encode(nil, data); err != nil {
					t.Fatal(err)
				}
			}
		}
		got := NewElems(form)
		if err := p.Decode(got, append([]byte{byte(mask)}, data...)); err != nil || !bytes.Equal(got.Fixed, plain) {
			t.Errorf("codecs %03b: %v", mask, err)
		}
		if len(data) > 1 {
			err := p.Decode(got, append([]byte{byte(mask)}, data[:len(data)-1]...))
			if err == nil {
				t.Errorf("codecs %03b: a chunk that is cut is decoded", mask)
			}
			checkMessage(t, fmt.Sprintf("cut %03b", mask), err)
		}
	}
	for i, stored := range [][]byte{nil, {8}, append([]byte{0x80}, plain...), append([]byte{0}, append(plain, 1)...)} {
		err := p.Decode(NewElems(form), stored)
		if err == nil {
			t.Errorf("%.5x: no error", stored)
		}
		checkMessage(t, fmt.Sprint("damaged ", i), err)
	}
	noise := make([]byte, 256)
	for i := range noise {
		noise[i] = byte(i*i*31 + i>>1*17)
	}
	for name, c := range map[string]struct {
		data []byte
		mask byte
	}{"plain": {plain, 7}, "noise": {noise, 0}} {
		stored, err := p.Encode(nil, Elems{Fixed: c.data})
		if err != nil || stored[0] != c.mask || len(stored) > len(c.data)+1 {
			t.Errorf("%s: codecs %03b in %d bytes, %v", name, stored[0], len(stored), err)
		}
		got := NewElems(form)
		if err := p.Decode(got, stored); err != nil || !bytes.Equal(got.Fixed, c.data) {
			t.Errorf("%s: %v", name, err)
		}
	}
	wide := mustNew(t, conditionally(`{"name":"zstd"}`, `,"header_bits":24`), form)
	if stored, err := wide.Encode(nil, Elems{Fixed: plain}); err != nil || !bytes.Equal(stored[:3], []byte{1, 0, 0}) {
		t.Errorf("%x, %v", stored[:3], err)
	}
	for name, list := range map[string]string{
		"array codec": conditionally(`{"name":"transpose","configuration":{"order":[0]}}`, ""), "bits": conditionally(`{"name":"zstd"}`, `,"header_bits":7`),
		"few bits": conditionally(`{"name":"zstd"}`, `,"header_bits":0`), "unknown": conditionally(`{"name":"nothing"}`, ""), "no list": `[` + littleBytes + `,{"name":"conditional"}]`,
		"nested": `[` + littleBytes + `,` + nest(20) + `]`,
	} {
		_, err := New(specs(t, list), form)
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		checkMessage(t, name, err)
	}
}

func nest(n int) string {
	if n == 0 {
		return `{"name":"zstd"}`
	}
	return `{"name":"conditional","configuration":{"codecs":[` + nest(n-1) + `]}}`
}
