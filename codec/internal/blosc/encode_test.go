package blosc

import (
	"bytes"
	"errors"
	"testing"

	"varve/codec/internal/vectors"
	"varve/fixtures/system"
)

// TestLayoutAsReference encodes the decoded vectors with their options. The header must equal that of c-blosc,
// for lz4 also every byte, and no chunk may be much longer.
func TestLayoutAsReference(t *testing.T) {
	for _, v := range recorded(t) {
		if v.opt.Compressor == "snappy" {
			continue
		}
		t.Run(v.String(), func(t *testing.T) {
			got, err := Append([]byte("x"), v.raw, v.opt)
			if err != nil {
				t.Fatal(err)
			}
			got = got[1:]
			same := v.opt.Compressor == "lz4" || v.opt.Level == 0 || len(v.raw) < minBuffer
			a, b := bytes.Clone(got[:12]), bytes.Clone(v.encoded[:12])
			if !same { // another encoder may store the bytes uncompressed
				a[2], b[2] = a[2]&^flagStored, b[2]&^flagStored
			}
			if !bytes.Equal(a, b) {
				t.Errorf("header % x, want % x", a, b)
			}
			if same && !bytes.Equal(got, v.encoded) {
				t.Errorf("%d bytes differ from the %d of c-blosc", len(got), len(v.encoded))
			}
			if len(got) > len(v.encoded)*5/4+16 {
				t.Errorf("%d bytes, c-blosc takes %d", len(got), len(v.encoded))
			}
		})
	}
}

func TestAppendIsDeterministic(t *testing.T) {
	for _, v := range recorded(t) {
		if v.opt.Compressor == "snappy" || v.opt.Level != 5 || v.opt.TypeSize != 4 {
			continue
		}
		first, err := Append(nil, v.raw, v.opt)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Append(nil, vectors.Sample("sparse", 1000), v.opt); err != nil {
			t.Fatal(err)
		}
		second, err := Append(make([]byte, 0, 1<<20), v.raw, v.opt)
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("%v: differs the second time, err=%v", v, err)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	kinds := []string{"smooth", "steps", "zeros", "sparse", "noise"}
	lengths := []int{0, 1, 15, 127, 128, 129, 1000, 4097, 100003}
	if system.Race {
		lengths = lengths[:7] // the search for matches is very slow under the race detector
	}
	for _, name := range []string{"blosclz", "lz4", "lz4hc", "zlib", "zstd"} {
		for i, n := range lengths {
			for j, typesize := range []int{1, 2, 3, 4, 8, 16, 17, 255, 256} {
				roundTrip(t, vectors.Sample(kinds[(i+j)%len(kinds)], n), Options{
					Compressor: name,
					Level:      (2*i+j)%9 + 1,
					Shuffle:    Shuffle((i + 2*j) % 3),
					TypeSize:   typesize,
					BlockSize:  n % 7 * 1000,
				})
			}
		}
	}
}

func roundTrip(t *testing.T, raw []byte, o Options) {
	t.Helper()
	enc, err := Append(nil, raw, o)
	if err != nil {
		t.Fatalf("%+v, %d bytes: %v", o, len(raw), err)
	}
	if len(enc) > len(raw)+HeaderSize {
		t.Errorf("%+v: %d bytes became %d", o, len(raw), len(enc))
	}
	dst := make([]byte, len(raw))
	n, err := Decode(dst, enc)
	if err != nil || !bytes.Equal(dst[:n], raw) {
		t.Errorf("%+v: %d bytes decode to %d, err=%v", o, len(raw), n, err)
	}
}

func TestOptions(t *testing.T) {
	good := Options{Compressor: "lz4", Level: 5, Shuffle: ByteShuffle, TypeSize: 4}
	for _, tc := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"name", func(o *Options) { o.Compressor = "lzma" }, "compressor lzma blosclz lz4 lz4hc zlib zstd"},
		{"snappy", func(o *Options) { o.Compressor = "snappy" }, "snappy"},
		{"level", func(o *Options) { o.Level = 10 }, "level 10 0 9"},
		{"shuffle", func(o *Options) { o.Shuffle = 3 }, "shuffle 3 0 2"},
		{"typesize", func(o *Options) { o.TypeSize = 0 }, "typesize 0 1"},
		{"blocksize", func(o *Options) { o.BlockSize = -1 }, "blocksize -1 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := good
			tc.change(&o)
			_, err := Append(nil, make([]byte, 1000), o)
			if err == nil || !vectors.Mentions(err, tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
			if errors.Is(err, errors.ErrUnsupported) != (tc.name == "snappy") {
				t.Errorf("error %v: unsupported=%v", err, tc.name != "snappy")
			}
		})
	}
}
