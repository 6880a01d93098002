package codec

import (
	"encoding/json"
	"slices"
	"strings"
)

// Byte orders of the codec "bytes".
const (
	LittleEndian = "little"
	BigEndian    = "big"
)

// InOrder returns the codec "bytes" for a byte order, or for elements that have none if the order is
// empty.
func InOrder(order string) Spec {
	s := Spec{Name: "bytes"}
	if order != "" {
		s.Config = json.RawMessage(`{"endian":"` + order + `"}`)
	}
	return s
}

// Uncompressed returns the codecs of elements as they are in memory: little-endian, one after the other.
func Uncompressed() []Spec { return []Spec{InOrder(LittleEndian)} }

// ByteOrder returns the byte order of a codec that stores elements one after the other. ok is false for
// any other codec. The order is empty for elements that have none.
func (s Spec) ByteOrder() (order string, ok bool) {
	if s.Name != "bytes" {
		return "", false
	}
	var config struct{ Endian string }
	if len(s.Config) > 0 && json.Unmarshal(s.Config, &config) != nil {
		return "", true
	}
	return config.Endian, true
}

// ShortName returns the name without the project that defined the codec.
func (s Spec) ShortName() string {
	name := s.Name
	for _, prefix := range []string{"numcodecs.", "hdf5.", "hdf4.", "fits."} {
		name = strings.TrimPrefix(name, prefix)
	}
	return name
}

// IsRaw reports whether the codecs only store elements one after the other, so that the position of an
// element follows from its index.
func IsRaw(specs []Spec) bool {
	if len(specs) != 1 {
		return false
	}
	_, ok := specs[0].ByteOrder()
	return ok
}

// HasShards reports whether any of the codecs makes shards, whose inner chunks clients read one by one.
func HasShards(specs []Spec) bool {
	return slices.ContainsFunc(specs, Spec.IsSharding)
}

// HasChecksum reports whether stored chunks have a checksum, or may have one, that Decode verifies.
func HasChecksum(specs []Spec) bool {
	return slices.ContainsFunc(specs, func(s Spec) bool {
		info, _ := Lookup(s.Name)
		return info.Sums
	})
}

// HasMessages reports whether stored chunks are GRIB messages, which describe their grid and time themselves.
func HasMessages(specs []Spec) bool {
	return slices.ContainsFunc(specs, func(s Spec) bool { return s.Name == "grib.message" })
}

// IsMemoryForm reports whether the stored bytes of a chunk equal its elements in memory.
func (p *Pipeline) IsMemoryForm() bool {
	b, ok := p.toBytes.(*bytesCodec)
	return ok && !b.isBig && len(p.arrayCodecs)+len(p.bytesCodecs) == 0
}

// Partial says which parts of a stored chunk DecodeRegion can read without the others.
type Partial uint8

// The parts of chunks.
const (
	WholeChunks   Partial = iota // none: a compressor or a checksum needs all bytes
	PartialChunks                // inner chunks of shards, tiles of FITS images
	PartialRows                  // single elements
)

// Partial returns which parts of a stored chunk can be read alone.
func (p *Pipeline) Partial() Partial {
	if len(p.bytesCodecs) > 0 || !p.keepsRegions() {
		return WholeChunks
	}
	switch p.toBytes.(type) {
	case *bytesCodec:
		return PartialRows
	case *sharding, *fitsQuantized:
		return PartialChunks
	}
	return WholeChunks
}

// portabilityChecker is a codec that accepts some bytes that its counterparts in Zarr clients reject.
type portabilityChecker interface{ checkPortable(stored []byte) error }

// CheckPortable returns an error, with the reason, for a stored chunk that Decode accepts but other Zarr
// clients reject. It wraps errors.ErrUnsupported. It looks at the outermost codec only: the input of the
// others would have to be decoded.
func (p *Pipeline) CheckPortable(stored []byte) error {
	if len(p.bytesCodecs) == 0 {
		return nil
	}
	if c, ok := p.bytesCodecs[len(p.bytesCodecs)-1].(portabilityChecker); ok {
		return c.checkPortable(stored)
	}
	return nil
}
