package dap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"varve/manifest/export/netcdf"
	"varve/manifest/ingest"
	"varve/manifest/store"
)

// bytesOf returns numbers, or a text, as a file of netcdf has them: little-endian.
func bytesOf(t testing.TB, data any) []byte {
	t.Helper()
	if text, ok := data.(string); ok {
		return []byte(text)
	}
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, data); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// variableOf is a variable of a test file.
type variableOf struct {
	netcdf.Variable
	data any
}

// writeFile writes a file whose dimensions are time, lat (2), lon (3) and len (4).
func writeFile(t testing.TB, name string, records int, vars []variableOf) {
	t.Helper()
	f := netcdf.File{
		Dimensions: []netcdf.Dimension{{Name: "time", Length: int64(records)}, {Name: "lat", Length: 2}, {Name: "lon", Length: 3}, {Name: "len", Length: 4}},
		Attributes: []netcdf.Attribute{netcdf.Text("title", `two "files" of C:\data`)},
	}
	for _, v := range vars {
		f.Variables = append(f.Variables, v.Variable)
	}
	writeTo(t, name, f, vars)
}

// writeTo writes a file with the data of its variables.
func writeTo(t testing.TB, name string, f netcdf.File, vars []variableOf) {
	t.Helper()
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	err = f.Write(out, func(i int, w io.Writer) error {
		_, err := w.Write(bytesOf(t, vars[i].data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// openTwoFiles returns the dataset of two files along time, with 2 and 1 records:
//
//	short t2m(time, lat, lon)   0 to 17, packed
//	byte flags(time)            1, 254, 1, with _Unsigned
//	int64 count(lat)            2^31 and 2^53, which an Int32 does not hold
//	int64 odd(lat)              1 and 2^53 + 1, which a Float64 does not hold
//	char station(lat, len)      "a", "bcd"
//	float a.b c(lat)            a name with characters that are escaped
func openTwoFiles(t testing.TB) *Dataset {
	t.Helper()
	dir := t.TempDir()
	var names []string
	for f, n := range []int{2, 1} {
		times, values, flags := []int64{}, []int16{}, []int8{1, -2}
		for i := range n {
			times = append(times, int64(2*f+i))
			for c := range 6 {
				values = append(values, int16(12*f+6*i+c))
			}
		}
		attributes := func(a ...netcdf.Attribute) []netcdf.Attribute { return a }
		names = append(names, filepath.Join(dir, fmt.Sprintf("%02d.nc", f)))
		writeFile(t, names[f], n, []variableOf{
			{netcdf.Variable{Name: "time", Dimensions: []int{0}, Type: netcdf.Int64, Attributes: attributes(netcdf.Text("units", "days since 2010-01-01"))}, times},
			{netcdf.Variable{Name: "lat", Dimensions: []int{1}, Type: netcdf.Float}, []float32{50, 40}},
			{netcdf.Variable{Name: "lon", Dimensions: []int{2}, Type: netcdf.Double}, []float64{0, 0.5, 1}},
			{netcdf.Variable{Name: "t2m", Dimensions: []int{0, 1, 2}, Type: netcdf.Short, Attributes: attributes(
				netcdf.Attribute{Name: "scale_factor", Type: netcdf.Float, Data: bytesOf(t, float32(0.01))},
				netcdf.Attribute{Name: "_FillValue", Type: netcdf.Short, Data: bytesOf(t, int16(-999))})}, values},
			{netcdf.Variable{Name: "flags", Dimensions: []int{0}, Type: netcdf.Byte, Attributes: attributes(netcdf.Text("_Unsigned", "true"),
				netcdf.Attribute{Name: "valid_range", Type: netcdf.Byte, Data: bytesOf(t, []int8{0, -2})})}, flags[:n]},
			{netcdf.Variable{Name: "count", Dimensions: []int{1}, Type: netcdf.Int64}, []int64{1 << 31, 1 << 53}},
			{netcdf.Variable{Name: "odd", Dimensions: []int{1}, Type: netcdf.Int64}, []int64{1, 1<<53 + 1}},
			{netcdf.Variable{Name: "station", Dimensions: []int{1, 3}, Type: netcdf.Char}, "a\x00\x00\x00bcd\x00"},
			{netcdf.Variable{Name: "a.b c", Dimensions: []int{1}, Type: netcdf.Float}, []float32{1.5, 2.5}},
		})
	}
	return open(t, "two files", names...)
}

// open builds a manifest of files and returns its dataset.
func open(t testing.TB, name string, files ...string) *Dataset {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out.varve")
	if _, err := ingest.Build(t.Context(), dir, &ingest.Options{Sources: ingest.Sources{Names: files}, Writer: "test"}); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), dir, &store.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return New(st, name, nil)
}
