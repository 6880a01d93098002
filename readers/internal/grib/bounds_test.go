package grib_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"varve/readers"
	"varve/readers/internal/grib"
	"varve/readers/readertest"
	"varve/readers/source"
)

// firstMessage returns the first message of a sample.
func firstMessage(t *testing.T, name string) []byte {
	t.Helper()
	b := read(t, name)
	i := bytes.Index(b, []byte("7777"))
	return bytes.Clone(b[:i+4])
}

// sections2 returns the sections of a message of edition 2, by number.
func sections2(t *testing.T, name string) (out [8][]byte) {
	t.Helper()
	b := firstMessage(t, name)
	for b = b[16:]; len(b) > 4; {
		n := binary.BigEndian.Uint32(b)
		out[b[4]] = b[:n:n]
		b = b[n:]
	}
	return out
}

// message2 joins sections to a message of edition 2.
func message2(sections ...[]byte) []byte {
	body := slices.Concat(sections...)
	head := append([]byte("GRIB\xff\xff\x00\x02"), binary.BigEndian.AppendUint64(nil, uint64(16+len(body)+4))...)
	return slices.Concat(head, body, []byte("7777"))
}

func memory(name string, b []byte) *source.Source {
	return source.New(name, &readertest.Memory{Data: b})
}

// allocated returns the bytes that a function allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestSharedSections opens a message with a local section of 1 MiB and 300 fields. The fields share the section in memory.
func TestSharedSections(t *testing.T) {
	s := sections2(t, "levels.grib")
	local := make([]byte, 1<<20)
	binary.BigEndian.PutUint32(local, uint32(len(local)))
	local[4] = 2
	parts := [][]byte{s[1], local, s[3]}
	for range 300 {
		parts = append(parts, s[4], s[5], s[6], s[7])
	}
	var data *readers.Dataset
	var err error
	got := allocated(func() { data, err = grib.Format{}.Open(t.Context(), memory("shared", message2(parts...))) })
	if err != nil || data.Variable("/t") == nil {
		t.Fatal(err, data)
	}
	if got > 32<<20 {
		t.Errorf("a message of %d bytes takes %d bytes to open", len(local), got)
	}
}

// TestValidTimesBound opens 3,000 fields, each with its own reference time and its own step. The 9 million valid times that follow are
// not computed.
func TestValidTimesBound(t *testing.T) {
	one := firstMessage(t, "levels1.grib")
	var file []byte
	for i := range 3000 {
		b := bytes.Clone(one)
		s := b[8:] // section 1
		s[12], s[13], s[14], s[15] = byte(1+i/1000), byte(1+i%1000/100), byte(1+i%100/10), byte(i%10)
		binary.BigEndian.PutUint16(s[18:], uint16(i+1)) // P1
		s[20] = 10                                      // P1 takes two octets
		file = append(file, b...)
	}
	var data *readers.Dataset
	var err error
	got := allocated(func() { data, err = grib.Format{}.Open(t.Context(), memory("diagonal", file)) })
	if err != nil {
		t.Fatal(err)
	}
	if steps := data.Variable("/step"); steps == nil || !slices.Equal(steps.Shape, []uint64{3000}) {
		t.Fatalf("steps %+v", steps)
	}
	if found := data.Variable("/valid_time") != nil; found || len(data.Problems) != 1 || got > 64<<20 {
		t.Errorf("valid_time is present: %v; problems %v; %d bytes allocated", found, data.Problems, got)
	}
}

// TestRowsBound opens messages that declare 4 million columns each, all of them different.
func TestRowsBound(t *testing.T) {
	s := sections2(t, "levels.grib")
	const columns = 1 << 22
	var file []byte
	for i := range 20 {
		definition := bytes.Clone(s[3])
		binary.BigEndian.PutUint32(definition[6:], columns)
		binary.BigEndian.PutUint32(definition[30:], columns)
		binary.BigEndian.PutUint32(definition[34:], 1)
		binary.BigEndian.PutUint32(definition[46:], uint32(i)) // latitude of the first point
		copy(definition[55:], definition[46:50])
		file = append(file, message2(s[1], definition, s[4], s[5], s[6], s[7])...)
	}
	var data *readers.Dataset
	var err error
	got := allocated(func() { data, err = grib.Format{}.Open(t.Context(), memory("rows", file)) })
	if err != nil {
		t.Fatal(err)
	}
	if got > 256<<20 || len(data.Problems) != 19 {
		t.Errorf("%d bytes allocated, %d problems", got, len(data.Problems))
	}
}

// TestManyProblems counts the damaged messages that are not listed one by one.
func TestManyProblems(t *testing.T) {
	file := append(bytes.Repeat([]byte("GRIB...9"), 1500), firstMessage(t, "levels.grib")...)
	f, err := grib.OpenFile(t.Context(), memory("many", file))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Problems) != 1001 {
		t.Fatalf("%d problems", len(f.Problems))
	}
	last := f.Problems[1000].Err
	if want := "500 more"; !bytes.HasPrefix([]byte(last.Error()), []byte(want)) || !errors.Is(last, readers.ErrCorrupt) {
		t.Errorf("the last problem is %q, want %s", last, want)
	}
}

// layer returns a message of a layer of the ground. Its top and bottom are in metres.
func layer(s [8][]byte, parameter, top, bottom byte) []byte {
	product := bytes.Clone(s[4])
	product[10] = parameter
	copy(product[22:], []byte{106, 0, 0, 0, 0, top, 106, 0, 0, 0, 0, bottom})
	return message2(s[1], s[3], product, s[5], s[6], s[7])
}

// TestLayersOfVariables reads two variables whose layers have the same tops and different bottoms: each variable has a
// dimension of its own, so that no coordinate has a value twice. A third variable has the levels of the second.
func TestLayersOfVariables(t *testing.T) {
	s := sections2(t, "levels.grib")
	file := slices.Concat(layer(s, 0, 0, 10), layer(s, 0, 10, 40), layer(s, 6, 0, 7), layer(s, 6, 7, 28), layer(s, 1, 0, 7), layer(s, 1, 7, 28))
	data, err := grib.Format{}.Open(t.Context(), memory("layers", file))
	if err != nil || len(data.Problems) > 0 {
		t.Fatal(err, data.Problems)
	}
	for name, want := range map[string][]float64{"/depthBelowLandLayer_bnds": {0, 10, 10, 40}, "/depthBelowLandLayer_2_bnds": {0, 7, 7, 28}} {
		if bounds, _ := floats(t, data, name); !slices.Equal(bounds, want) {
			t.Errorf("%s %v, want %v", name, bounds, want)
		}
	}
	for name, want := range map[string]string{"/t": "depthBelowLandLayer", "/dpt": "depthBelowLandLayer_2", "/vtmp": "depthBelowLandLayer_2"} {
		v := data.Variable(name)
		if v == nil {
			var names []string
			for _, v := range data.Root.Variables {
				names = append(names, v.Name)
			}
			t.Fatalf("no variable %s in %v", name, names)
		}
		if got := v.Dims[len(v.Dims)-3].Name; got != want {
			t.Errorf("%s has the dimension %s, want %s", name, got, want)
		}
	}
}

// TestUnknownTimes checks that a field whose reference time or step cannot be known is a problem, rather than a field at a wrong time.
func TestUnknownTimes(t *testing.T) {
	climatology := firstMessage(t, "levels1.grib")
	climatology[8+12] = 255 // year of century
	unit1 := firstMessage(t, "levels1.grib")
	unit1[8+17], unit1[8+18] = 9, 6 // unit, P1
	s := sections2(t, "levels.grib")
	product := bytes.Clone(s[4])
	product[17], product[21] = 9, 6 // unit, forecast time
	for name, b := range map[string][]byte{
		"climatology": climatology, "unit of edition 1": unit1, "unit of edition 2": message2(s[1], s[3], product, s[5], s[6], s[7]),
	} {
		data, err := grib.Format{}.Open(t.Context(), memory(name, b))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(data.Problems) != 1 || !errors.Is(data.Problems[0].Err, errors.ErrUnsupported) || len(data.Root.Variables) > 0 {
			t.Errorf("%s: problems %v, %d variables", name, data.Problems, len(data.Root.Variables))
		}
	}
}

// TestProbabilityNames checks the names of probabilities by their type in code table 4.9.
func TestProbabilityNames(t *testing.T) {
	s := sections2(t, "levels.grib")
	for kind, want := range []string{"below_2", "above_3", "between_2_3", "above_2", "below_3", "equal_2", "probability6"} {
		limits := []byte{0, 0, byte(kind), 0, 0, 0, 0, 2, 0, 0, 0, 0, 3}
		product := append(bytes.Clone(s[4]), limits...)
		product[3], product[8] = byte(len(product)), 5 // template 4.5
		data, err := grib.Format{}.Open(t.Context(), memory("probability", message2(s[1], s[3], product, s[5], s[6], s[7])))
		if err != nil {
			t.Fatal(err)
		}
		if name := fmt.Sprintf("/t_%s", want); data.Variable(name) == nil {
			t.Errorf("type %d: no variable %s", kind, name)
		}
	}
}

// TestWindOfDestinE checks the name of the wind at 100 m in the production status of Destination Earth, whose short name in ecCodes is u.
func TestWindOfDestinE(t *testing.T) {
	s := sections2(t, "levels.grib")
	identification, product := bytes.Clone(s[1]), bytes.Clone(s[4])
	identification[19] = 12 // productionStatusOfProcessedData
	product[9], product[10] = 2, 2
	copy(product[22:], []byte{103, 0, 0, 0, 0, 100, 255, 255, 255, 255, 255, 255})
	data, err := grib.Format{}.Open(t.Context(), memory("destine", message2(identification, s[3], product, s[5], s[6], s[7])))
	if err != nil {
		t.Fatal(err)
	}
	if data.Variable("/u100") == nil {
		t.Errorf("no variable u100 in %d variables", len(data.Root.Variables))
	}
}
