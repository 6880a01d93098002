package dap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"math"
	"os"
	"strings"
	"testing"

	"varve/manifest/export/netcdf"
)

var record = flag.Bool("record", false, "write testdata/two.* as the texts are now")

const noLimit = math.MaxInt64

func answerOf(t testing.TB, a *Answer, err error) []byte {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := a.Write(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if a.Size >= 0 && int64(out.Len()) != a.Size {
		t.Fatalf("%d bytes, not %d as announced", out.Len(), a.Size)
	}
	return out.Bytes()
}

// TestText compares the declarations, attributes and values in DAP2's texts, and the DMR, with files that people have read.
func TestText(t *testing.T) {
	d := openTwoFiles(t)
	texts := map[string]func() (string, error){
		"two.dds": func() (string, error) { return d.DDS(t.Context(), "") },
		"two.das": func() (string, error) { return d.DAS(t.Context()) },
		"two.dmr": func() (string, error) { return d.DMR("", false) },
		"two.asc": func() (string, error) {
			a, err := d.ASCII(t.Context(), "t2m[0:2:2][1][0:1],flags,station,a%2Eb%20c,lat[0]", noLimit)
			return string(answerOf(t, a, err)), nil
		},
		"two.members.dds": func() (string, error) { return d.DDS(t.Context(), "t2m.time[0:1],t2m.t2m[0][0:1][2],flags.flags") },
	}
	for name, text := range texts {
		got, err := text()
		if err != nil {
			t.Fatal(err)
		}
		if *record {
			if err := os.WriteFile("testdata/"+name, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

// TestDODS decodes the binary form as the specification has it.
func TestDODS(t *testing.T) {
	d := openTwoFiles(t)
	big := binary.BigEndian
	words := func(values ...uint32) (out []byte) {
		for _, v := range values {
			out = big.AppendUint32(out, v)
		}
		return out
	}
	doubles := func(values ...float64) (out []byte) {
		out = words(uint32(len(values)), uint32(len(values)))
		for _, v := range values {
			out = big.AppendUint64(out, math.Float64bits(v))
		}
		return out
	}
	single := math.Float32bits
	for query, want := range map[string][]byte{
		"time":             words(3, 3, 0, 1, 2), // an int64 whose values fit
		"flags.flags":      words(3, 3, 1, 254, 1),
		"count.count":      doubles(1<<31, 1<<53),
		"odd.odd[0]":       doubles(1),
		"station.station":  append(append(words(2, 1), 'a', 0, 0, 0), append(words(3), 'b', 'c', 'd', 0)...),
		"t2m.t2m[2][1][1]": words(1, 1, 16),
		"lon[0:2:2]":       doubles(0, 1),
		"/lat":             words(2, 2, single(50), single(40)),
		"t2m[1:2][0:1:0][2:2]": append(append(append(words(2, 2, 8, 14), words(2, 2, 1, 2)...), words(1, 1, single(50))...),
			doubles(1)...),
		"a%252Eb%2520c.a%252Eb%2520c": words(2, 2, single(1.5), single(2.5)),
		"t2m.lat[1],t2m.lon[1]":       append(words(1, 1, single(40)), doubles(0.5)...),
	} {
		a, err := d.DODS(t.Context(), query, noLimit)
		got := answerOf(t, a, err)
		head, values, ok := bytes.Cut(got, []byte("\nData:\n"))
		if dds, err := d.DDS(t.Context(), query); err != nil || !ok || string(head) != dds {
			t.Errorf("%s: %v in %q", query, err, head)
		}
		if !bytes.Equal(values, want) || a.Values != int64(len(want)) {
			t.Errorf("%s: got %x, want %x", query, values, want)
		}
	}
}

// TestInexact checks that a value that DAP2 cannot hold is refused by name, and sent by DAP4.
func TestInexact(t *testing.T) {
	d := openTwoFiles(t)
	_, err := d.DODS(t.Context(), "odd", noLimit)
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "/odd") || !strings.Contains(err.Error(), "9007199254740993") {
		t.Error(err)
	}
	a, err := d.Data(t.Context(), "/odd[1]", true, noLimit)
	if values := variablesOf(t, answerOf(t, a, err), 8); binary.LittleEndian.Uint64(values[0]) != 1<<53+1 {
		t.Errorf("%x", values)
	}
}

// TestLimits checks that answers above the limit are refused before anything is written, and that one at the limit is not.
func TestLimits(t *testing.T) {
	d := openTwoFiles(t)
	for query, size := range map[string]int64{"t2m.t2m": 8 + 18*4, "station.station": 4 + 8 + 8, "time,lat": 20 + 16} {
		if _, err := d.DODS(t.Context(), query, size); err != nil {
			t.Errorf("%s: %v", query, err)
		}
		var large *SizeError
		if _, err := d.DODS(t.Context(), query, size-1); !errors.As(err, &large) || large.Limit != size-1 {
			t.Errorf("%s: %v", query, err)
		}
	}
	for expression, size := range map[string]int64{"/t2m": 36, "/station": 8 + 1 + 8 + 3} {
		if _, err := d.Data(t.Context(), expression, true, size); err != nil {
			t.Errorf("%s: %v", expression, err)
		}
		var large *SizeError
		if _, err := d.Data(t.Context(), expression, true, size-1); !errors.As(err, &large) {
			t.Errorf("%s: %v", expression, err)
		}
	}
}

// TestAttributes checks numbers and names in a DAS that clients read in their own ways: pydap knows "inf" alone, and netCDF-C makes an
// integer of more than 63 bits the largest of 63 bits.
func TestAttributes(t *testing.T) {
	var out strings.Builder
	for _, a := range []netcdf.Attribute{
		{Name: "floats", Type: netcdf.Float, Data: bytesOf(t, []float32{0.1, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())})},
		{Name: "doubles", Type: netcdf.Double, Data: bytesOf(t, []float64{0.1, math.Inf(1), math.Inf(-1), math.NaN()})},
		{Name: "large", Type: netcdf.UInt64, Data: bytesOf(t, []uint64{3, math.MaxUint64})},
		{Name: "small", Type: netcdf.UInt64, Data: bytesOf(t, []uint64{3, math.MaxInt32})},
		{Name: "ü", Type: netcdf.Int, Data: bytesOf(t, []int32{1})}, // netCDF-C opens no dataset with a name that begins with %
		{Name: "signed", Type: netcdf.Int64, Data: bytesOf(t, []int64{math.MinInt64})},
	} {
		writeAttribute2(&out, a)
	}
	want := `        Float32 floats 0.1, inf, -inf, NaN;
        Float64 doubles 0.1, inf, -inf, NaN;
        Float64 large 3e+00, 1.8446744073709552e+19;
        Int32 small 3, 2147483647;
        Int32 _%C3%BC 1;
        Float64 signed -9223372036854775808;
`
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
}
