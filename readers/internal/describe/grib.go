package describe

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"varve/codec/grib"
	"varve/codec/grib/geo"
	"varve/readers"
	gribreader "varve/readers/internal/grib"
	"varve/readers/source"
)

// maxHashedPoints is the number of points up to which the values and coordinates of a field are hashed.
const maxHashedPoints = 60_000_000

// GRIB lists the fields of a GRIB file with the keys that ecCodes has, in the order of the file. With --values
// it adds hashes of the values and coordinates of all points, in the order of the message.
func GRIB(ctx context.Context, src *source.Source, opts *readers.DescribeOptions, doc document) error {
	f, err := gribreader.OpenFile(ctx, src)
	if err != nil {
		return err
	}
	d := &gribDescriber{ctx: ctx, opts: opts, file: f, known: map[*geo.Grid]document{}}
	list := make([]document, 0, len(f.Fields))
	for _, field := range f.Fields {
		list = append(list, d.field(field))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	doc["grib"] = document{"messages": list}
	if len(f.Problems) > 0 {
		doc["status"], doc["error"] = "partial", f.Problems[0].Err.Error()
		return &readers.PartialError{Err: f.Problems[0].Err}
	}
	return nil
}

type gribDescriber struct {
	ctx   context.Context
	opts  *readers.DescribeOptions
	file  *gribreader.File
	known map[*geo.Grid]document // the hashed coordinates of each grid

	lat, lon, values []float64 // buffers that fields share
}

func (d *gribDescriber) field(f *gribreader.Field) document {
	doc := document{"offset": f.Offset, "length": f.Length}
	if f.Count > 1 {
		doc["field"], doc["fields"] = f.Index, f.Count
	}
	for key, value := range f.Facts() {
		doc[key] = value
	}
	packed, grid, err := d.file.Read(d.ctx, f)
	var info grib.Info
	if err == nil {
		info, err = packed.Describe()
	}
	if err != nil {
		if d.opts.Values {
			doc["values"], doc["coordinates"] = document{"error": err.Error()}, document{"error": err.Error()}
		}
		return doc
	}
	for key, value := range f.PackingFacts(packed, info) {
		doc[key] = value
	}
	doc["numberOfPoints"] = grid.Points
	if d.opts.Values {
		values := d.hashValues(packed, info)
		if low, ok := values["min"].(float64); ok && info.BitsPerValue < 0 {
			high, _ := values["max"].(float64)
			doc["bitsPerValue"] = impliedBits(low, high, info)
		}
		doc["values"] = values
		if !grid.Spectral() {
			doc["coordinates"] = d.coordinates(f, grid)
		}
	}
	return doc
}

// impliedBits returns bitsPerValue for values with second-order packing, as ecCodes does: the bits that simple packing
// would need.
func impliedBits(low, high float64, info grib.Info) int {
	span := math.Ceil(math.Abs((high - low) * math.Pow(10, float64(info.DecimalScale)) * math.Pow(2, float64(-info.BinaryScale))))
	return bits.Len64(uint64(span))
}

func (d *gribDescriber) hashValues(packed *grib.Field, info grib.Info) document {
	if info.Values > maxHashedPoints {
		return document{"error": fmt.Sprintf("%d points, more than %d", info.Values, maxHashedPoints)}
	}
	d.values = slices.Grow(d.values[:0], info.Values)[:info.Values]
	if err := grib.Decode(d.values, packed); err != nil {
		return document{"error": err.Error()}
	}
	return summary(d.values)
}

// summary hashes values as float64 and as float32, with one bit pattern for NaN and one for zero, and adds their count,
// minimum, maximum and mean.
func summary(values []float64) document {
	wide, narrow := make([]byte, 0, 8*len(values)), make([]byte, 0, 4*len(values))
	missing, low, high, sum := 0, math.Inf(1), math.Inf(-1), 0.0
	for _, v := range values {
		if math.IsNaN(v) {
			missing++
			wide = binary.LittleEndian.AppendUint64(wide, 0x7ff8000000000000)
			narrow = binary.LittleEndian.AppendUint32(narrow, 0x7fc00000)
			continue
		}
		v += 0 // makes a negative zero positive
		low, high, sum = min(low, v), max(high, v), sum+v
		wide = binary.LittleEndian.AppendUint64(wide, math.Float64bits(v))
		narrow = binary.LittleEndian.AppendUint32(narrow, math.Float32bits(float32(v)+0))
	}
	doc := document{"count": len(values), "missing": missing, "sha256": hashOf(wide), "sha256_f32": hashOf(narrow)}
	if n := len(values) - missing; n > 0 {
		for key, v := range map[string]float64{"min": low, "max": high, "mean": sum / float64(n)} {
			if doc[key] = v; math.IsInf(v, 0) || math.IsNaN(v) {
				doc[key] = fmt.Sprint(v)
			}
		}
	}
	return doc
}

// coordinates hashes latitudes and longitudes, rounded to millionths of a degree.
func (d *gribDescriber) coordinates(f *gribreader.Field, grid *geo.Grid) document {
	if known := d.known[f.Grid]; known != nil && f.Grid.Points == grid.Points {
		return known
	}
	n := grid.Points
	if n > maxHashedPoints {
		return document{"error": fmt.Sprintf("%d points, more than %d", n, maxHashedPoints)}
	}
	if !grid.HasCoordinates() {
		return document{"error": fmt.Sprintf("no coordinates of the grid %s", grid.Type)}
	}
	if !grid.Regular() && len(grid.Rows) == 0 && grid.Type != "healpix" {
		return document{"error": "rows and points disagree"}
	}
	d.lat, d.lon = slices.Grow(d.lat[:0], n)[:n], slices.Grow(d.lon[:0], n)[:n]
	if err := grid.Coordinates(d.lat, d.lon); err != nil {
		return document{"error": err.Error()}
	}
	doc := document{"count": n}
	for name, list := range map[string][]float64{"latitudes": d.lat, "longitudes": d.lon} {
		b := make([]byte, 0, 8*n)
		for i, v := range list {
			v = math.RoundToEven(v*1e6)/1e6 + 0
			if v == 360 && name == "longitudes" {
				v = 0
			}
			list[i] = v
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		doc[name] = hashOf(b)
	}
	sample := [][]any{}
	for k := range 12 {
		i := int(float64(k) * float64(n-1) / 11)
		if n < 1 || len(sample) > 0 && sample[len(sample)-1][0] == i {
			continue
		}
		sample = append(sample, []any{i, d.lat[i], d.lon[i]})
	}
	doc["sample"] = sample
	d.known[f.Grid] = doc
	return doc
}
