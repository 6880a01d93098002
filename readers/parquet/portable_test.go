package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/fixtures/soak"
	"varve/fixtures/venv"
	"varve/readers"
)

// TestHybrid decodes runs of random lengths, in parts of random lengths.
func TestHybrid(t *testing.T) {
	seed := soak.Seed(t)
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
		coded := runs{data: appendHybrid(nil, numbers, width), width: width, limit: 1<<width - 1}
		got := make([]uint32, len(numbers))
		for at := 0; at < len(got); {
			end := min(len(got), at+1+r.IntN(30))
			if err := readRuns(&coded, got[at:end]); err != nil {
				t.Fatal(err)
			}
			at = end
		}
		if !slices.Equal(got, numbers) {
			t.Fatalf("width %d: %v came back as %v", width, numbers, got)
		}
	}
}

func TestRunsAreShort(t *testing.T) {
	if got := appendHybrid(nil, make([]uint32, 100_000), 1); len(got) != 4 {
		t.Errorf("100,000 equal numbers take %d bytes, not a run's 4", len(got))
	}
}

// TestRowGroupWantsAllRows checks that a column without a value for each row is an error.
func TestRowGroupWantsAllRows(t *testing.T) {
	for name, values := range map[string][]Values{
		"column":         {{Ints: []int64{1}}},
		"number":         {{}, {Index: []int32{0}, Bytes: [][]byte{nil}}},
		"required value": {{Ints: []int64{1}}, {}},
		"row":            {{Ints: []int64{1}, Same: true}, {Index: []int32{0}, Bytes: [][]byte{nil}}},
	} {
		var out bytes.Buffer
		w := NewWriter(&out, []Column{{Name: "n"}, {Name: "text", Type: Text}}, Options{Portable: true})
		if err := w.RowGroup(1, nil, values); err == nil || out.Len() > 0 {
			t.Errorf("a missing %s: error %v after %d bytes", name, err, out.Len())
		}
	}
}

// sampleColumns are columns of all types that are written, except JSON.
var sampleColumns = []Column{{Name: "n"}, {Name: "coords", Type: IntList}, {Name: "path", Type: Text, Optional: true},
	{Name: "name", Type: Text}, {Name: "raw", Type: Bytes, Optional: true}, {Name: "maybe", Optional: true},
	{Name: "texts", Type: TextList}, {Name: "words", Type: TextList}}

// sampleGroup returns the values of one of 3 row groups.
func sampleGroup(g int) []Values {
	var n, coords, path, name, raw, maybe, texts, words Values
	for i := range 1000 * g {
		n.Ints = append(n.Ints, int64(i)<<40-int64(g))
		coords.Lengths = append(coords.Lengths, int32(i%4))
		maybe.Ints, maybe.Present = append(maybe.Ints, int64(i)), append(maybe.Present, uint8(min(i%3, 1)))
		for k := range i % 4 {
			coords.Ints = append(coords.Ints, int64(i+k))
		}
		texts.Lengths, words.Lengths = append(texts.Lengths, int32(i%3)), append(words.Lengths, int32(i%5))
		for k := range i % 3 {
			texts.Index = append(texts.Index, int32(len(texts.Bytes)))
			texts.Bytes = append(texts.Bytes, fmt.Appendf(nil, "%d é %d", i, k))
		}
		for k := range i % 5 {
			words.Index = append(words.Index, int32((i+k)%2))
		}
		path.Index = append(path.Index, int32(i/100%3)-1)
		name.Index = append(name.Index, int32(i))
		name.Bytes = append(name.Bytes, []byte{'a' + byte(i%26)})
		raw.Index = append(raw.Index, int32(i)-1)
		raw.Bytes = append(raw.Bytes, bytes.Repeat([]byte{byte(i), 0xff}, i%50))
	}
	path.Bytes = [][]byte{[]byte("/a/b"), []byte("日本")}
	words.Bytes = path.Bytes
	if g == 2 {
		raw = Values{}
	}
	return []Values{n, coords, path, name, raw, maybe, texts, words}
}

func sample(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, sampleColumns, Options{Portable: true})
	for g := range 3 {
		if err := w.RowGroup(1000*g, nil, sampleGroup(g)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestScan reads the columns of the sample that are no lists, in parts of 7 rows.
func TestScan(t *testing.T) {
	data := sample(t)
	f, err := OpenForeign(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Groups) != 2 || len(f.Columns) != len(sampleColumns) {
		t.Fatalf("%d groups of %d columns", len(f.Groups), len(f.Columns))
	}
	for i, c := range sampleColumns {
		for g := range f.Groups {
			s, err := f.Scan(g, i)
			if c.Type.isList() {
				if !errors.Is(err, errors.ErrUnsupported) {
					t.Errorf("column %s: error %v", c.Name, err)
				}
				continue
			}
			if err != nil || f.Columns[i] != c {
				t.Fatalf("column %v instead of %v: %v", f.Columns[i], c, err)
			}
			want := withoutIndex(sampleGroup(1 + g)[i])
			rows := int(f.Groups[g].Rows)
			for at := 0; at < rows; at += 7 {
				var got Values
				if err := s.Read(&got, min(7, rows-at)); err != nil {
					t.Fatal(err)
				}
				if err := compare(&want, &got, at); err != nil {
					t.Fatalf("group %d, column %s: %v", g, c.Name, err)
				}
			}
			if err := s.Read(&Values{}, 1); !errors.Is(err, readers.ErrCorrupt) {
				t.Errorf("group %d, column %s: error %v after the last row", g, c.Name, err)
			}
		}
	}
}

// withoutIndex returns values with one text for each row.
func withoutIndex(v Values) Values {
	if v.Index == nil {
		return v
	}
	out := Values{}
	for _, n := range v.Index {
		if n < 0 {
			out.Bytes, out.Present = append(out.Bytes, nil), append(out.Present, 0)
			continue
		}
		out.Bytes, out.Present = append(out.Bytes, v.Bytes[n]), append(out.Present, 1)
	}
	return out
}

// TestInteropReaders has pyarrow and fastparquet read a file of ours.
func TestInteropReaders(t *testing.T) {
	interpreter := venv.Python(t, "pyarrow and fastparquet")
	if out, err := exec.Command(interpreter, "-c", "import pyarrow, fastparquet").CombinedOutput(); err != nil {
		t.Skipf("%s lacks pyarrow or fastparquet: %s", interpreter, bytes.TrimSpace(out))
	}
	name := filepath.Join(t.TempDir(), "sample.parquet")
	if err := os.WriteFile(name, sample(t), 0o644); err != nil {
		t.Fatal(err)
	}
	venv.Run(t, "pyarrow and fastparquet", "testdata/read.py", name)
}

// manyRefs returns columns of kerchunk references: 100 files with 1,000 chunks each.
func manyRefs() (path, offset, size Values) {
	at := int64(0)
	for i := range 100_000 {
		n := int64(20_000 + rand.IntN(1<<14))
		path.Index = append(path.Index, int32(i/1000))
		offset.Ints, size.Ints = append(offset.Ints, at), append(size.Ints, n)
		if at += n; i%1000 == 999 {
			at = 4096
			path.Bytes = append(path.Bytes, []byte(strings.Repeat("x", 60)+string(rune('a'+i/1000))))
		}
	}
	return path, offset, size
}

func BenchmarkPortableRefs(b *testing.B) {
	var out bytes.Buffer
	w := NewWriter(&out, []Column{{Name: "path", Type: Text, Optional: true}, {Name: "offset"}, {Name: "size"}, {Name: "raw", Type: Bytes, Optional: true}}, Options{Portable: true})
	path, offset, size := manyRefs()
	rows := len(path.Index)
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		w.Reset(&out)
		if err := w.RowGroup(rows, nil, []Values{path, offset, size, {}}); err != nil {
			b.Fatal(err)
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds()/1e6, "Mrefs/s")
	b.ReportMetric(float64(out.Len())/float64(rows), "B/ref")
}
