package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/fixtures/venv"
)

// unpack reads what appendHybrid wrote.
func unpack(t *testing.T, data []byte, width, n int) []uint32 {
	t.Helper()
	var out []uint32
	for len(data) > 0 {
		head, size := binary.Uvarint(data)
		data = data[size:]
		if head&1 == 0 {
			v := uint32(0)
			for b := 0; b < width; b += 8 {
				v |= uint32(data[b/8]) << b
			}
			data = data[(width+7)/8:]
			out = append(out, slices.Repeat([]uint32{v}, int(head>>1))...)
			continue
		}
		for i := range 8 * int(head>>1) {
			v := uint32(0)
			for b := range width {
				bit := i*width + b
				v |= uint32(data[bit/8]>>(bit%8)&1) << b
			}
			out = append(out, v)
		}
		data = data[int(head>>1)*width:]
	}
	if len(out) < n || len(out) >= n+8 {
		t.Fatalf("%d numbers in the runs of %d", len(out), n)
	}
	return out[:n]
}

func TestHybrid(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 500 {
		width := 1 + r.IntN(20)
		var numbers []uint32
		for range r.IntN(12) {
			v, n := uint32(r.IntN(1<<width)), 1+r.IntN(3)
			if r.IntN(3) == 0 {
				n = r.IntN(40)
			}
			numbers = append(numbers, slices.Repeat([]uint32{v}, n)...)
		}
		if got := unpack(t, appendHybrid(nil, numbers, width), width, len(numbers)); !slices.Equal(got, numbers) {
			t.Fatalf("width %d: %v came back as %v", width, numbers, got)
		}
	}
}

func TestRunsAreShort(t *testing.T) {
	if got := appendHybrid(nil, make([]uint32, 100_000), 1); len(got) != 4 {
		t.Errorf("100,000 equal numbers take %d bytes, not a run's 4", len(got))
	}
}

func TestGroupWantsAllRows(t *testing.T) {
	w, err := NewWriter([]Column{{Name: "n"}, {Name: "text", Kind: Text}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w.Reset(&out)
	for name, data := range map[string][]Data{
		"column":         {{Ints: []int64{1}}},
		"number":         {{}, {Index: []int32{0}, Values: [][]byte{nil}}},
		"required value": {{Ints: []int64{1}}, {}},
	} {
		if err := w.Group(1, data...); err == nil || !strings.Contains(err.Error(), "column") {
			t.Errorf("a missing %s: %v", name, err)
		}
	}
}

// writeSample writes 3 row groups with all kinds of columns.
func writeSample(t *testing.T, name string) {
	t.Helper()
	w, err := NewWriter([]Column{{Name: "n"}, {Name: "coords", Kind: Int64s}, {Name: "path", Kind: Text, Optional: true},
		{Name: "name", Kind: Text}, {Name: "raw", Kind: Bytes, Optional: true}, {Name: "maybe", Optional: true},
		{Name: "texts", Kind: Texts}, {Name: "words", Kind: Texts}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w.Reset(&out)
	for g := range 3 {
		var n, coords, path, name, raw, maybe, texts, words Data
		for i := range 1000 * g {
			n.Ints = append(n.Ints, int64(i)<<40-int64(g))
			coords.Lengths = append(coords.Lengths, int32(i%4))
			if maybe.Index = append(maybe.Index, int32(i%3)-1); i%3 > 0 {
				maybe.Ints = append(maybe.Ints, int64(i))
			}
			for k := range i % 4 {
				coords.Ints = append(coords.Ints, int64(i+k))
			}
			texts.Lengths, words.Lengths = append(texts.Lengths, int32(i%3)), append(words.Lengths, int32(i%5))
			for k := range i % 3 {
				texts.Index = append(texts.Index, int32(len(texts.Values)))
				texts.Values = append(texts.Values, fmt.Appendf(nil, "%d é %d", i, k))
			}
			for k := range i % 5 {
				words.Index = append(words.Index, int32((i+k)%2))
			}
			path.Index = append(path.Index, int32(i/100%3)-1)
			name.Index = append(name.Index, int32(i))
			name.Values = append(name.Values, []byte{'a' + byte(i%26), 'é' >> 6 & 0xff, 0xa9}[:1])
			raw.Index = append(raw.Index, int32(i)-1)
			raw.Values = append(raw.Values, bytes.Repeat([]byte{byte(i), 0xff}, i%50))
		}
		path.Values = [][]byte{[]byte("/a/b"), []byte("日本")}
		words.Values = path.Values
		if g == 2 {
			raw = Data{}
		}
		if err := w.Group(1000*g, n, coords, path, name, raw, maybe, texts, words); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestInteropReaders has pyarrow and fastparquet read a file of ours.
func TestInteropReaders(t *testing.T) {
	interpreter := venv.Python(t, "pyarrow and fastparquet")
	if out, err := exec.Command(interpreter, "-c", "import pyarrow, fastparquet").CombinedOutput(); err != nil {
		t.Skipf("%s lacks pyarrow or fastparquet: %s", interpreter, bytes.TrimSpace(out))
	}
	name := filepath.Join(t.TempDir(), "sample.parquet")
	writeSample(t, name)
	venv.Run(t, "pyarrow and fastparquet", "testdata/read.py", name)
}

func BenchmarkRefs(b *testing.B) {
	const rows = 100_000
	w, err := NewWriter([]Column{{Name: "path", Kind: Text, Optional: true}, {Name: "offset"}, {Name: "size"}, {Name: "raw", Kind: Bytes, Optional: true}})
	if err != nil {
		b.Fatal(err)
	}
	var path, offset, size Data
	at := int64(0)
	for i := range rows {
		n := int64(20_000 + rand.IntN(1<<14))
		path.Index = append(path.Index, int32(i/1000))
		offset.Ints, size.Ints = append(offset.Ints, at), append(size.Ints, n)
		if at += n; i%1000 == 999 {
			at = 4096
			path.Values = append(path.Values, []byte(strings.Repeat("x", 60)+string(rune('a'+i/1000))))
		}
	}
	var out bytes.Buffer
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		w.Reset(&out)
		if err := w.Group(rows, path, offset, size, Data{}); err != nil {
			b.Fatal(err)
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds()/1e6, "Mrefs/s")
	b.ReportMetric(float64(out.Len())/rows, "B/ref")
}
