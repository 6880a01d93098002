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

// generated returns a set with one generator.
func generated(members string) string {
	return `{"version":1,"templates":{"u":"b","f":"{{c}}.nc"},"gen":[{` + members + `}],"refs":{` + group + "," + array + `}}`
}

// TestGenerated expands the generators of the specification, and compares with fsspec
// (simple_templates=False).
func TestGenerated(t *testing.T) {
	for _, test := range []struct{ name, members, want string }{
		{"a range", `"key":"x/{{i}}","url":"http://{{u}}_{{i}}","offset":"{{(i + 1) * 1000}}","length":"1000","dimensions":{"i":{"stop":2}}`,
			"map[0:[http://b_0 1000 1000] 1:[http://b_1 2000 1000]]"},
		{"a list", `"key":"x/{{i}}","url":"{{f(c='k' ~ i)}}","offset":"{{ -7 % 4 }}","length":"{{ 7//2 }}","dimensions":{"i":[1]}`,
			"map[1:[k1.nc 1 3]]"},
		{"two dimensions", `"key":"{{v}}/{{i}}","url":"{{v + '.nc'}}","offset":"{{ 10 - i * 2 }}","length":3,"dimensions":{"v":["x","y"],"i":{"start":1,"stop":-1,"step":-1}}`,
			"map[0:[x.nc 10 3] 1:[x.nc 8 3]]"},
		{"whole files", `"key":"x/{{i}}","url":"{{i}}","dimensions":{"i":{"start":0,"stop":2,"step":2}}`,
			"map[0:[0]]"},
		{"other keys", `"key":"x/{{i}}","url":"a","dimensions":{"i":[2, 7]}`, "map[]"},
	} {
		data, err := Format{}.Open(context.Background(), inMemory(generated(test.members)))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if got := fmt.Sprint(refs(t, data.Root.Variables[0])); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}

// TestGeneratedRefs expands generators whose references are invalid.
func TestGeneratedRefs(t *testing.T) {
	for _, test := range []struct {
		name, members string
		want          error
	}{
		{"an unknown name", `"key":"x/0","url":"{{w}}"`, errors.ErrUnsupported},
		{"no arguments", `"key":"x/0","url":"{{f}}"`, errors.ErrUnsupported},
		{"an unknown function", `"key":"x/0","url":"{{g(c=1)}}"`, errors.ErrUnsupported},
		{"text plus number", `"key":"x/0","url":"{{u + 1}}"`, errors.ErrUnsupported},
		{"division by zero", `"key":"x/{{0}}","url":"a","offset":"{{1 // 0}}","length":"1"`, readers.ErrCorrupt},
		{"beyond 2^63", `"key":"x/0","url":"a","offset":"{{4611686018427387904 * 2}}","length":"1"`, readers.ErrCorrupt},
		{"negative", `"key":"x/0","url":"a","offset":"{{0 - 1}}","length":"1"`, readers.ErrCorrupt},
		{"an offset that is text", `"key":"x/0","url":"a","offset":"{{u}}","length":"1"`, readers.ErrCorrupt},
	} {
		data, err := Format{}.Open(context.Background(), inMemory(generated(test.members)))
		if err != nil {
			t.Errorf("%s: opening: %v", test.name, err)
			continue
		}
		for _, err = range data.Root.Variables[0].Storage.Refs(context.Background()) {
		}
		if !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       error
	}{
		{"an empty object", `{}`, readers.ErrCorrupt},
		{"no documents", v1(`"x/0":["a",0,1]`), readers.ErrCorrupt},
		{"cut off", v1(group)[:30], readers.ErrCorrupt},
		{"text after the object", v1(group) + "{}", readers.ErrCorrupt},
		{"no comma", `{"version":1 "refs":{}}`, readers.ErrCorrupt},
		{"two commas", `{"version":1,,"refs":{}}`, readers.ErrCorrupt},
		{"a comma at the end", v1(group, array) + ",", readers.ErrCorrupt},
		{"a comma before the end", `{"version":1,"refs":{` + group + `,}}`, readers.ErrCorrupt},
		{"no colon", `{"version" 1}`, readers.ErrCorrupt},
		{"a name without quotes", `{version:1}`, readers.ErrCorrupt},
		{"nested", `{"refs":{"x/0":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}}`, readers.ErrCorrupt},
		{"version 2", `{"version":2,"refs":{` + group + `}}`, errors.ErrUnsupported},
		{"version 1 without refs", `{"version":1,` + group + `}`, readers.ErrCorrupt},
		{"gen without a URL", generated(`"key":"x/{{i}}"`), readers.ErrCorrupt},
		{"gen with an offset alone", generated(`"key":"x/0","url":"a","offset":"1"`), readers.ErrCorrupt},
		{"gen over no range", generated(`"key":"x/0","url":"a","dimensions":{"i":{"start":1}}`), readers.ErrCorrupt},
		{"gen with step 0", generated(`"key":"x/0","url":"a","dimensions":{"i":{"stop":4,"step":0}}`), readers.ErrCorrupt},
		{"gen over a number that is not an integer", generated(`"key":"x/0","url":"a","dimensions":{"i":[1.5]}`), errors.ErrUnsupported},
		{"gen with a filter", generated(`"key":"x/{{i|upper}}","url":"a","dimensions":{"i":[1]}`), errors.ErrUnsupported},
		{"gen with a statement", generated(`"key":"x/{% if i %}","url":"a","dimensions":{"i":[1]}`), errors.ErrUnsupported},
		{"gen of too many references", generated(`"key":"x/{{i}}","url":"a","dimensions":{"i":{"stop":4611686018427387904}}`), errors.ErrUnsupported},
		{"gen of too many combinations", generated(`"key":"x/{{i}}","url":"a","dimensions":{"i":{"stop":3000},"j":{"stop":3000}}`), errors.ErrUnsupported},
		{"gen nested deep", generated(`"key":"x/{{` + strings.Repeat("(", 99) + `","url":"a"`), errors.ErrUnsupported},
		{"template without its end", `{"version":1,"templates":{"f":"{{c.nc"},"refs":{` + group + `}}`, readers.ErrCorrupt},
		{"template that is not a string", `{"version":1,"templates":{"f":3},"refs":{` + group + `}}`, readers.ErrCorrupt},
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
		{"a number in place of the URL", `[1,2,3]`, readers.ErrCorrupt},
		{"a negative offset", `["a",-1,2]`, readers.ErrCorrupt},
		{"an offset that is not an integer", `["a",1.5,2]`, readers.ErrCorrupt},
		{"an offset beyond 2^63", `["a",9223372036854775808,2]`, readers.ErrCorrupt},
		{"an empty URL", `["",1,2]`, readers.ErrCorrupt},
		{"null", `[null,1,2]`, errors.ErrUnsupported},
		{"invalid base64", `"base64:%%%%"`, readers.ErrCorrupt},
		{"an unknown template", `["{{u}}/a",1,2]`, errors.ErrUnsupported},
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

// TestPassedOver reads a set with entries that belong to no chunk.
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

// TestInterleaved reads a set in which the entries of two arrays alternate, so that their extents
// overlap.
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
	for path, v := range readertest.Variables(data) {
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

// TestManyPrefixes reads a set with more names than the index separates. Each entry is still read
// once.
func TestManyPrefixes(t *testing.T) {
	long := strings.Replace(array, "[4]", "[8]", 1)
	entries := []string{group, long, strings.Replace(long, `"x/`, `"y/`, 1), `"x/0":["x.bin",0,2]`}
	for i := range maxPrefixes {
		entries = append(entries, fmt.Sprintf(`"of nothing %d/0":"a"`, i))
	}
	for i := range 3 {
		entries = append(entries, fmt.Sprintf(`"y/%d":["y.bin",%d,2]`, i, 2*i), fmt.Sprintf(`"x/%d":["x.bin",%d,2]`, i+1, 2*i+2))
	}
	data, err := Format{}.Open(context.Background(), inMemory(v1(entries...)))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/x": "[0 1 2 3]", "/y": "[0 1 2]"} {
		var got []uint64
		for r, err := range readertest.Variables(data)[path].Storage.Refs(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r.Index[0])
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: chunks %v, want %s", path, got, want)
		}
	}
}

// TestLargeFile checks the memory that a large file takes.
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
	for r, err := range readertest.Variables(readertest.Open(t, Format{}, name))["/x"].Storage.Refs(context.Background()) {
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

// FuzzJSON opens sets and reads their content.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(v1(group, array, `"x/0":"ab"`, `"x/1":"base64:AAA="`)))
	f.Add([]byte(`{` + group + `,` + array + `,"x/0":["a",0,1]}`))
	f.Add([]byte(generated(`"key":"x/{{i}}","url":"{{f(c=u ~ i)}}","offset":"{{(i + 1) * -2 // 3 % 5}}","length":"7","dimensions":{"i":{"stop":2},"j":[1,"a"]}`)))
	f.Add([]byte(`{"version":1,"templates":{"u":"v"},"gen":[],"refs":{` + group + `,"x/0":["{{u}}"]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		readertest.Describe(context.Background(), Format{}, inMemory(string(data)))
	})
}
