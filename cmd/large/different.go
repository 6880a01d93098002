package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"varve/fixtures/classic"
	"varve/manifest/report"
)

// layouts is the number of chunk layouts of an archive whose files all differ. A layout has its own number of times
// in a file. The layouts follow one another, as in an archive whose producer changed them.
const layouts = 10

// fields is the number of data variables of a file of an archive whose files all differ.
const fields = 37

// different returns file i of n files with 40 variables that differ in everything that files of real archives differ
// in: the packing and the range of each variable, seven global attributes, and the chunk layout. first is the number
// of times in all files before it.
func different(i, n int, first int64) (f *classic.File, times int) {
	times = 1 + i*layouts/max(n, i+1)
	sum := sha256.Sum256([]byte(strconv.Itoa(i)))
	random := func(k int) float64 { return float64(binary.LittleEndian.Uint16(sum[k%len(sum)/2*2:])) / math.MaxUint16 }
	at := hour(i)
	f = &classic.File{Dims: []classic.Dim{{Name: "time", Length: times}, {Name: "y", Length: 2}, {Name: "x", Length: 3}}}
	f.Attributes = []classic.Attribute{
		{Name: "uuid", Value: fmt.Sprintf("%x-%x", sum[:8], sum[8:16])},
		{Name: "date_created", Value: at.AddDate(35, 0, 0).Format("2006-01-02T15:04:05Z")},
		{Name: "history", Value: fmt.Sprintf("%s granule %d: ncks -O -d time,%d in%d.nc out.nc", at.Format("2006-01-02"), i, i, i)},
		{Name: "time_coverage_start", Value: at.Format("2006-01-02T15:04:05Z")},
		{Name: "time_coverage_end", Value: at.Add(3599e9).Format("2006-01-02T15:04:05Z")},
		{Name: "orbit", Value: []int32{int32(i)}},
		{Name: "quality", Value: []float64{random(0)}},
		{Name: "title", Value: "An archive whose files all differ"},
	}
	steps := make([]int32, times)
	for k := range steps {
		steps[k] = int32(first) + int32(k)
	}
	f.Vars = []classic.Var{
		{Name: "time", Dims: []string{"time"}, Data: steps, Attributes: []classic.Attribute{{Name: "units", Value: "hours since 1985-01-01"}}},
		{Name: "y", Dims: []string{"y"}, Data: []float32{10, 20}},
		{Name: "x", Dims: []string{"x"}, Data: []float32{1, 2, 3}},
	}
	for k := range fields {
		f.Vars = append(f.Vars, classic.Var{Name: fmt.Sprintf("v%d", k), Dims: []string{"time", "y", "x"}, Data: make([]int16, 6*times), Attributes: []classic.Attribute{
			{Name: "long_name", Value: fmt.Sprintf("field %d", k)},
			{Name: "units", Value: "K"},
			{Name: "_FillValue", Value: []int16{-32768}},
			{Name: "scale_factor", Value: []float64{0.001 + random(k)/1000 + float64(i)/1e9}},
			{Name: "add_offset", Value: []float64{273.15}},
			{Name: "actual_range", Value: []float64{200 + random(k+1) + float64(i)/1e6, 300 + random(k+2)}},
		}})
	}
	return f, times
}

// writeDifferent writes n files that all differ, a thousand to a folder below dir, and returns the name of the last one.
// The last file has the layout of the file before it.
func writeDifferent(ctx context.Context, dir string, n int) (last string, err error) {
	first := int64(0)
	for i := range n {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		folder := filepath.Join(dir, fmt.Sprintf("%05d", i/1000))
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return "", err
		}
		f, times := different(i, n-1, first)
		last = filepath.Join(folder, fmt.Sprintf("%08d.nc", i))
		if err := f.Write(last); err != nil {
			return "", err
		}
		first += int64(times)
	}
	return last, nil
}

// differences prints the time and the most memory of commands on archives whose files all differ, and how processor
// time and memory grow with the number of files: with the exponent 1 they are proportional.
func (b *bench) differences(ctx context.Context) error {
	var lines []line
	for _, n := range b.different {
		dir, out := b.path(fmt.Sprint("different", n)), b.path(fmt.Sprint("d", n, ".varve"))
		last, err := writeDifferent(ctx, dir, n+1)
		if err != nil {
			return err
		}
		next := b.path("next.nc")
		if err := os.Rename(last, next); err != nil {
			return err
		}
		part := b.path("d.part.parquet")
		for k, c := range []struct {
			name string
			args []string
		}{
			{"`scan`", []string{"scan", dir, "-o", part}},
			{"`build` from the scan part", []string{"build", out, part}},
			{"`append` of one file", []string{"append", out, next}},
			{"`info`", []string{"info", out}},
			{"`verify`", []string{"verify", out}},
			{"`read` of one value", []string{"read", out, "v0", "--isel", fmt.Sprintf("time=%d,y=0,x=0", n/2)}},
			{"`export kerchunk` to JSON", []string{"export", "kerchunk", out, b.path("d.json")}},
			{"`export kerchunk` to Parquet", []string{"export", "kerchunk", out, b.path("d.parquet")}},
			{"`export icechunk`", []string{"export", "icechunk", out, b.path("d.ice")}},
			{"`export table`", []string{"export", "table", out, b.path("d.table.parquet")}},
			{"`compact`", []string{"compact", out}}, // the last, because it changes the manifest
		} {
			cost, err := b.measure(ctx, c.args...)
			if err != nil {
				return err
			}
			if k == len(lines) {
				lines = append(lines, line{name: c.name})
			}
			lines[k].points = append(lines[k].points, point{n, cost})
			fmt.Fprintf(os.Stderr, "%d %s %s\n", n, c.name, cost)
		}
		for _, name := range []string{dir, part, out, next, b.path("d.json"), b.path("d.json.patches"), b.path("d.parquet"), b.path("d.ice"), b.path("d.table.parquet")} {
			if err := os.RemoveAll(name); err != nil {
				return err
			}
		}
	}
	fmt.Print("| files of 40 variables that differ in everything: elapsed, processor, memory |")
	for _, n := range b.different {
		fmt.Printf(" %s |", report.Thousands(int64(n)))
	}
	fmt.Printf(" exponents of processor time and memory |\n|---|%s---|\n", strings.Repeat("---|", len(b.different)))
	for _, l := range lines {
		fmt.Printf("| %s |", l.name)
		for _, p := range l.points {
			fmt.Printf(" %s |", p.cost)
		}
		first, last := l.points[0], l.points[len(l.points)-1]
		grown := math.Log(float64(last.files) / float64(first.files))
		fmt.Printf(" %.2f, %.2f |\n", math.Log(float64(last.processor)/float64(first.processor))/grown, math.Log(float64(last.memory)/float64(first.memory))/grown)
	}
	fmt.Println()
	if b.plot == "" {
		return nil
	}
	return writePlot(b.plot, lines)
}
