package codec

import (
	"encoding/binary"
	"fmt"
	"math"

	"varve/codec/grib"
	"varve/codec/grib/geo"
	"varve/codec/grib/message"
	"varve/codec/internal/corrupt"
)

// gribMessage decodes a GRIB message: a chunk is the whole message, or the sections of one field of it, and its elements are the
// values of the field in the order of the message. Missing ones are NaN.
//
// Specification: WMO Manual on Codes, volume I.2, FM 92 GRIB.
//
// With straight, the length of a row, every second row is reversed, so that all rows have one direction.
// With part, some chunks are sections of a message with several fields, so that no other program decodes them.
//
//	{"name": "grib.message", "configuration": {"straight": 1473, "part": true}}
type gribMessage struct {
	noEncoder
	straight int
	part     bool
	check    uint32 // what message.Verify expects; 0: nothing
}

func (g *gribMessage) withCheck(check uint32) ArrayToBytes {
	c := *g
	c.check = check
	return &c
}

func newGRIBMessage(c *config, in Form) (Codec, error) {
	g := &gribMessage{straight: c.integer("straight", 0, 0, math.MaxInt32), part: c.boolean("part", false)}
	if c.err != nil {
		return nil, c.err
	}
	return g, g.Accepts(in)
}

// newKerchunkGRIB makes the codec by which kerchunk decodes whole messages with ecCodes. In Zarr format 2 it is a filter.
//
//	{"id": "grib", "var": "t2m", "dtype": "float32"}
func newKerchunkGRIB(c *config, in Form) (Codec, error) {
	name, dtype := c.text("var", ""), c.text("dtype", "float32")
	if want := fmt.Sprint("float", 8*in.Type.Size); c.err == nil && dtype != want {
		c.fail("dtype", "%q for elements of %v", dtype, in.Type)
	}
	return newClientGRIB(c, in, name)
}

// newGribberish makes the codec that the Python package gribberish adds to zarr-python. It decodes whole messages.
//
//	{"name": "gribberish", "configuration": {"var": "t2m"}}
func newGribberish(c *config, in Form) (Codec, error) {
	name := c.text("var", "")
	for _, field := range []string{"adjust_longitude_range", "north_up"} {
		if c.boolean(field, false) {
			c.fail(field, "varve does not move rows and columns")
		}
	}
	return newClientGRIB(c, in, name)
}

// newClientGRIB makes a codec of other programs for the values of a variable. For variables named latitude and
// longitude these programs compute coordinates instead of values.
func newClientGRIB(c *config, in Form, name string) (Codec, error) {
	if name == "latitude" || name == "longitude" {
		c.fail("var", "coordinates of messages are not decoded")
	}
	if c.err != nil {
		return nil, c.err
	}
	g := &gribMessage{}
	return g, g.Accepts(in)
}

func (g *gribMessage) DecodeKey() string { return fmt.Sprint("grib.message ", g.straight, g.part) }

// Accepts takes chunks of floats.
func (g *gribMessage) Accepts(in Form) error {
	if in.Type.Kind != Float || in.Type.Size < 4 {
		return fmt.Errorf("elements of %v, not float32 or float64", in.Type)
	}
	return nil
}

func (g *gribMessage) EncodedSize(Form) (int, bool) { return 0, false }

func (g *gribMessage) Encode(dst []byte, _ Elems, _ Form) ([]byte, error) {
	return dst, g.cannotEncode()
}

func (g *gribMessage) Decode(dst Elems, src []byte, in Form) error {
	if g.check != 0 {
		if err := message.Verify(src, g.check); err != nil {
			return err
		}
	}
	f, _, err := message.Open(src)
	if err != nil {
		return err
	}
	info, err := f.Describe()
	if err != nil {
		return err
	}
	count := in.Count()
	if info.Values != count {
		return corrupt.Errorf("a field of %d values in a chunk of shape %v", info.Values, in.Shape)
	}
	if info.Constant {
		fillBytes(dst.Fixed, floatBytes(in.Type.Size, info.Value))
		return nil
	}
	values := make([]float64, count)
	if err := grib.Decode(values, f); err != nil {
		return err
	}
	if g.straight > 0 {
		straighten(values, g.straight)
	}
	putFloats(dst.Fixed, values, in.Type.Size)
	return nil
}

// straighten reverses every second row.
func straighten(values []float64, columns int) {
	for at := columns; at+columns <= len(values); at += 2 * columns {
		row := values[at : at+columns]
		for i, j := 0, columns-1; i < j; i, j = i+1, j-1 {
			row[i], row[j] = row[j], row[i]
		}
	}
}

func floatBytes(size int, v float64) []byte {
	if size == 4 {
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v)))
	}
	return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
}

// putFloats stores values as elements in memory.
func putFloats(dst []byte, values []float64, size int) {
	if size == 4 {
		for i, v := range values {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(float32(v)))
		}
		return
	}
	for i, v := range values {
		binary.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(v))
	}
}

// gribCoordinate decodes a grid definition: a chunk is section 2 of edition 1 or section 3 of edition 2, and its elements are the
// latitudes or the longitudes of all points, in the order of the values.
//
//	{"name": "grib.coordinate", "configuration": {"edition": 2, "axis": "latitude"}}
type gribCoordinate struct {
	noEncoder
	edition  int
	axis     int
	straight int
	check    uint32 // what message.VerifyGrid expects; 0: nothing
}

func (g *gribCoordinate) withCheck(check uint32) ArrayToBytes {
	c := *g
	c.check = check
	return &c
}

var gribAxes = []string{"latitude", "longitude"}

func newGRIBCoordinate(c *config, in Form) (Codec, error) {
	g := &gribCoordinate{edition: c.integer("edition", 2, 1, 2), axis: c.choice("axis", -1, gribAxes...), straight: c.integer("straight", 0, 0, math.MaxInt32)}
	if c.err != nil {
		return nil, c.err
	}
	return g, g.Accepts(in)
}

func (g *gribCoordinate) DecodeKey() string {
	return fmt.Sprint("grib.coordinate ", g.edition, gribAxes[g.axis], g.straight)
}

// Accepts takes chunks of float64.
func (g *gribCoordinate) Accepts(in Form) error {
	if in.Type.Kind != Float || in.Type.Size != 8 {
		return fmt.Errorf("GRIB values are float64, but the array declares %v", in.Type)
	}
	return nil
}

func (g *gribCoordinate) EncodedSize(Form) (int, bool) { return 0, false }

func (g *gribCoordinate) Encode(dst []byte, _ Elems, _ Form) ([]byte, error) {
	return dst, g.cannotEncode()
}

func (g *gribCoordinate) Decode(dst Elems, src []byte, in Form) error {
	if g.check != 0 {
		if err := message.VerifyGrid(src, g.check); err != nil {
			return err
		}
	}
	grid, err := geo.Parse(g.edition, src)
	if err != nil {
		return err
	}
	if n := in.Count(); g.edition == 1 {
		grid.Count(n)
	}
	if grid.Points != in.Count() {
		return corrupt.Errorf("a grid of %d points in a chunk of shape %v", grid.Points, in.Shape)
	}
	var both [2][]float64
	for i := range both {
		both[i] = make([]float64, grid.Points)
	}
	if err := grid.Coordinates(both[0], both[1]); err != nil {
		return err
	}
	if g.straight > 0 {
		straighten(both[g.axis], g.straight)
	}
	putFloats(dst.Fixed, both[g.axis], 8)
	return nil
}
