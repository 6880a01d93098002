package zarrjson

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"varve/codec"
	"varve/fixtures/system"
)

// TestHostileDocuments reads documents that are made to take much time or memory, and
// checks that they take no more than a multiple of their size.
func TestHostileDocuments(t *testing.T) {
	const n = 8000
	many := func(format string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(parts, ",")
	}
	fields := `{"name":"struct","configuration":{"fields":[` + many(`["f%d","int8"]`) + `]}}`
	nested := strings.Repeat(`{"name":"struct","configuration":{"fields":[["x",`, 30) + `"int8"` + strings.Repeat(`]]}}`, 30)
	long := strings.Repeat("x", 1<<18)
	cases := map[string]string{
		"struct and its fill value":   with("data_type", fields, "fill_value", "{"+many(`"f%d":1`)+"}"),
		"struct and another fill":     with("data_type", fields, "fill_value", "{"+many(`"g%d":1`)+"}"),
		"nested structs":              with("data_type", nested, "fill_value", `"AA=="`),
		"huge fields":                 with("data_type", `{"name":"struct","configuration":{"fields":[`+many(`["f%d","r8388608"]`)+`]}}`, "fill_value", `{}`),
		"unknown fields":              with("x", `{"must_understand":false}`, "y", "{"+many(`"f%d":1`)+"}"),
		"many extra fields":           "{" + many(`"f%d":{"must_understand":false}`) + "," + with()[1:],
		"many codecs":                 with("codecs", "["+many(`{"name":"c%d"}`)+"]"),
		"many dimensions":             with("shape", "["+strings.Repeat("1,", n)+"1]", "chunk_grid", `{"name":"regular","configuration":{"chunk_shape":[`+strings.Repeat("1,", n)+`1]}}`),
		"many edges":                  rectilinear("[10]", "[["+strings.Repeat("1,2,", n)+"1]]", ""),
		"long names under long names": `{"` + long + `":{` + many(`"f%d":1`) + `}}`,
		"long name":                   with(long, "1"),
		"long text":                   with("fill_value", `"`+long+`"`),
		"long number":                 with("fill_value", strings.Repeat("9", 1<<18)),
		"names that differ late":      `{` + many(`"`+strings.Repeat("x", 100)+`%d":1`) + `}`,
		"members under a long path":   `{"zarr_format":3,"node_type":"group","consolidated_metadata":{"kind":"inline","metadata":{"` + long + `":{"node_type":"group","zarr_format":3,` + many(`"f%d":1`) + `}}}}`,
	}
	for name, doc := range cases {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := system.ProcessorTime(t)
			n, err := ParseNode([]byte(doc))
			took := system.ProcessorTime(t) - start
			runtime.ReadMemStats(&after)
			if took > time.Minute {
				t.Errorf("took %v for %d bytes", took, len(doc))
			}
			// TotalAlloc counts all allocations, also freed ones.
			if used := after.TotalAlloc - before.TotalAlloc; used > uint64(400*len(doc))+1<<22 {
				t.Errorf("allocated %d bytes for %d", used, len(doc))
			}
			if err != nil && len(err.Error()) > 500 {
				t.Errorf("a message of %d bytes", len(err.Error()))
			}
			if err == nil && n.Array != nil {
				if _, err := n.Array.Encode(Compact); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestManyCodecs reads lists of codecs as long as allowed, and longer ones.
func TestManyCodecs(t *testing.T) {
	list := func(n int) string {
		return "[" + strings.Repeat(`{"name":"transpose","configuration":{"order":[0,1]}},`, n-1) + `{"name":"bytes"}]`
	}
	for n, want := range map[int]error{codec.MaxCodecs: nil, codec.MaxCodecs + 1: errors.ErrUnsupported, 16000: errors.ErrUnsupported} {
		shape := []string{"shape", "[4,4]", "data_type", `"uint8"`, "fill_value", "0", "chunk_grid", `{"name":"regular","configuration":{"chunk_shape":[2,2]}}`, "dimension_names", "null"}
		if _, err := ParseArray([]byte(with(append(shape, "codecs", list(n))...))); !errors.Is(err, want) {
			t.Errorf("%d codecs: got %v, want %v", n, err, want)
		}
	}
	filters := func(n int) string {
		return `{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"|u1","fill_value":0,"order":"C","compressor":null,"filters":[` +
			strings.TrimSuffix(strings.Repeat(`{"id":"delta","dtype":"|u1"},`, n), ",") + `]}`
	}
	for n, want := range map[int]error{codec.MaxCodecs: nil, codec.MaxCodecs + 1: errors.ErrUnsupported} {
		if _, err := ParseV2Array([]byte(filters(n))); !errors.Is(err, want) {
			t.Errorf("%d filters: got %v, want %v", n, err, want)
		}
	}
}
