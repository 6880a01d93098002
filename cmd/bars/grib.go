package main

import (
	"encoding/binary"
	"fmt"
	"math"

	"varve/codec/grib"
)

// gribJobs returns a job for each packing of GRIB, and proves that varve finds the values that ecCodes
// does.
func gribJobs(folder string) ([]job, error) {
	var jobs []job
	for _, r := range []struct {
		name string
		bar  float64
	}{
		{"simple, 16 bits", 1}, {"simple, 12 bits", 1}, {"complex", 1}, {"complex, differences", 1}, {"CCSDS", 1},
		{"PNG", 0.5}, {"JPEG 2000", 0.5}, {"JPEG 2000, 12 bits", 0.5},
	} {
		name := "GRIB " + r.name
		messages, err := files(folder, name)
		if err != nil {
			return nil, err
		}
		values, err := files(folder, name+", values")
		if err != nil {
			return nil, err
		}
		field := gribField(messages[0])
		dst := make([]float64, len(values[0])/8)
		pass := func() error { return grib.Decode(dst, field) }
		if err := pass(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for i, v := range dst {
			if math.Float64bits(v) != binary.LittleEndian.Uint64(values[0][8*i:]) {
				return nil, fmt.Errorf("%s: value %d is %v, and ecCodes finds another", name, i, v)
			}
		}
		jobs = append(jobs, job{name, name, r.bar, "Mvalues/s", float64(len(dst)) / 1e6, 1, false, pass})
	}
	return jobs, nil
}

// gribField takes a message of edition 2 with one field apart.
func gribField(message []byte) *grib.Field {
	const (
		indicator   = 16 // bytes of section 0
		pointsAt    = 6  // in section 3
		grid, data  = 3, 7
		packing     = 5
		trailerSize = 4
	)
	f := &grib.Field{Edition: 2}
	for rest := message[indicator:]; len(rest) > trailerSize; {
		n := binary.BigEndian.Uint32(rest)
		switch section := rest[:n]; section[4] {
		case grid:
			f.Points = int(binary.BigEndian.Uint32(section[pointsAt:]))
		case packing:
			f.Section5 = section
		case data:
			f.Section7 = section
		}
		rest = rest[n:]
	}
	return f
}
