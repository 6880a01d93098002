package kerchunk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"varve/readers"
	"varve/readers/readertest"
	"varve/readers/source"
)

const (
	group = `".zgroup":"{\"zarr_format\":2}"`
	array = `"x/.zarray":{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"|u1","fill_value":0,"order":"C","filters":null,"compressor":null}`
)

func inMemory(text string) *source.Source {
	return source.New("test.json", &readertest.Memory{Data: []byte(text)})
}

func v1(entries ...string) string { return `{"version":1,"refs":{` + strings.Join(entries, ",") + `}}` }

func TestRefused(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       error
	}{
		{"nothing in it", `{}`, readers.ErrCorrupt},
		{"no documents", v1(`"x/0":["a",0,1]`), readers.ErrCorrupt},
		{"cut off", v1(group)[:30], readers.ErrCorrupt},
		{"something behind", v1(group) + "{}", readers.ErrCorrupt},
		{"no comma", `{"version":1 "refs":{}}`, readers.ErrCorrupt},
		{"two commas", `{"version":1,,"refs":{}}`, readers.ErrCorrupt},
		{"a comma at the end", v1(group, array) + ",", readers.ErrCorrupt},
		{"a comma before the end", `{"version":1,"refs":{` + group + `,}}`, readers.ErrCorrupt},
		{"no colon", `{"version" 1}`, readers.ErrCorrupt},
		{"a name without quotes", `{version:1}`, readers.ErrCorrupt},
		{"nested", `{"refs":{"x/0":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}}`, readers.ErrCorrupt},
		{"version 2", `{"version":2,"refs":{` + group + `}}`, errors.ErrUnsupported},
		{"version 1 without refs", `{"version":1,` + group + `}`, readers.ErrCorrupt},
		{"generated", `{"version":1,"gen":[{"key":"x/{{i}}"}],"refs":{` + group + `}}`, errors.ErrUnsupported},
		{"template function", `{"version":1,"templates":{"f":"{{c}}.nc"},"refs":{` + group + `}}`, errors.ErrUnsupported},
		{"template that is no text", `{"version":1,"templates":{"f":3},"refs":{` + group + `}}`, readers.ErrCorrupt},
		{"bad name", `{"\ud8":1}`, readers.ErrCorrupt},
	} {
		_, err := Format{}.Open(context.Background(), inMemory(test.text))
		if !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
	}
}

func TestRefusedRefs(t *testing.T) {
	for _, test := range []struct {
		name, value string
		want        error
	}{
		{"a number", `3`, readers.ErrCorrupt},
		{"an object", `{"a":1}`, readers.ErrCorrupt},
		{"an empty list", `[]`, readers.ErrCorrupt},
		{"a list of two", `["a",1]`, readers.ErrCorrupt},
		{"a list of four", `["a",1,2,3]`, readers.ErrCorrupt},
		{"no text first", `[1,2,3]`, readers.ErrCorrupt},
		{"a negative offset", `["a",-1,2]`, readers.ErrCorrupt},
		{"an offset that is no whole number", `["a",1.5,2]`, readers.ErrCorrupt},
		{"an offset beyond 2^63", `["a",9223372036854775808,2]`, readers.ErrCorrupt},
		{"an empty URL", `["",1,2]`, readers.ErrCorrupt},
		{"null", `[null,1,2]`, errors.ErrUnsupported},
		{"base64 that is none", `"base64:%%%%"`, readers.ErrCorrupt},
		{"a template that is not there", `["{{u}}/a",1,2]`, errors.ErrUnsupported},
		{"a template without its end", `["{{u",1,2]`, readers.ErrCorrupt},
	} {
		text := `{"version":1,"templates":{"v":"w"},"refs":{` + strings.Join([]string{group, array, `"x/0":` + test.value}, ",") + `}}`
		data, err := Format{}.Open(context.Background(), inMemory(text))
		if err != nil {
			t.Errorf("%s: opening: %v", test.name, err)
			continue
		}
		v := data.Root.Variables[0]
		for _, err = range v.Storage.Refs(context.Background()) {
		}
		if !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
		if _, err := v.ReadAll(context.Background(), 100); !errors.Is(err, test.want) {
			t.Errorf("%s: reading: got %v, want %v", test.name, err, test.want)
		}
	}
}

// TestPassedOver has entries that are those of no chunk.
func TestPassedOver(t *testing.T) {
	text := v1(group, array, `"x/0":"ab"`, `"x/00":"zz"`, `"x/2":"zz"`, `"x/0.0":"zz"`, `"x/-1":"zz"`, `"x/a":3`, `"y/0":"zz"`, `"x/1":["a\"b",2,3]`)
	data, err := Format{}.Open(context.Background(), inMemory(text))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(refs(t, data.Root.Variables[0]))
	if want := `map[0:6162 1:[a"b 2 3]]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestInterleaved has the entries of two arrays in turns, so that their extents overlap.
func TestInterleaved(t *testing.T) {
	const n = 400
	entries := []string{group}
	for _, name := range []string{"x", "c", "g/0"} {
		entries = append(entries, `"`+name+strings.Replace(array, `"x`, "", 1))
		entries[len(entries)-1] = strings.Replace(entries[len(entries)-1], "[4]", fmt.Sprintf("[%d]", 2*n), 1)
	}
	for i := range n {
		for _, name := range []string{"x", "c", "g/0"} {
			entries = append(entries, fmt.Sprintf("\n\n%s%q:[%q,%d,2]", strings.Repeat(" ", 40), fmt.Sprint(name, "/", i), name+".bin", 2*i))
		}
	}
	data, err := Format{}.Open(context.Background(), inMemory(v1(entries...)))
	if err != nil {
		t.Fatal(err)
	}
	for path, v := range variables(data) {
		found := refs(t, v)
		if len(found) != n {
			t.Errorf("%s: %d refs, want %d", path, len(found), n)
		}
		for i := range n {
			want := fmt.Sprintf("[%s.bin %d 2]", path[1:], 2*i)
			if got := fmt.Sprint(found[fmt.Sprint(i)]); got != want {
				t.Errorf("%s: chunk %d: got %s, want %s", path, i, got, want)
			}
		}
	}
}

// TestLargeFile holds the memory that a large file takes to what it has to.
func TestLargeFile(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 12 MB")
	}
	name := filepath.Join(t.TempDir(), "large.json")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	const n = 200_000
	shape := strings.Replace(array, "[4]", fmt.Sprintf("[%d]", 2*n), 1)
	fmt.Fprintf(f, `{"version":1,"refs":{%s,%s`, group, shape)
	for i := range n {
		fmt.Fprintf(f, `,"x/%d":["s3://bucket/path/of/file-%04d.nc",%d,2]`, i, i/1000, 2*i)
	}
	fmt.Fprint(f, "}}")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	count := 0
	for r, err := range variables(open(t, name))["/x"].Storage.Refs(context.Background()) {
		if err != nil || r.Index[0] != uint64(count) || r.Offset != int64(2*count) {
			t.Fatalf("ref %d: %+v, %v", count, r, err)
		}
		if count++; count == n/2 {
			runtime.GC()
			runtime.ReadMemStats(&after)
		}
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); count != n || grown > 4<<20 {
		t.Errorf("%d refs, %d bytes more in use than before", count, grown)
	}
}

func BenchmarkRefs(b *testing.B) {
	const n = 100_000
	entries := []string{group, strings.Replace(array, "[4]", fmt.Sprintf("[%d]", 2*n), 1)}
	for i := range n {
		entries = append(entries, fmt.Sprintf(`"x/%d":["s3://bucket/path/of/file-%04d.nc",%d,2]`, i, i/1000, 2*i))
	}
	text := v1(entries...)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		data, err := Format{}.Open(context.Background(), inMemory(text))
		if err != nil {
			b.Fatal(err)
		}
		count := 0
		for _, err := range data.Root.Variables[0].Storage.Refs(context.Background()) {
			if err != nil {
				b.Fatal(err)
			}
			count++
		}
		if count != n {
			b.Fatalf("%d refs", count)
		}
	}
}

// FuzzJSON opens sets, and reads what is in them.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(v1(group, array, `"x/0":"ab"`, `"x/1":"base64:AAA="`)))
	f.Add([]byte(`{` + group + `,` + array + `,"x/0":["a",0,1]}`))
	f.Add([]byte(`{"version":1,"templates":{"u":"v"},"gen":[],"refs":{` + group + `,"x/0":["{{u}}"]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		readertest.Describe(context.Background(), Format{}, inMemory(string(data)))
	})
}
