package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Compressor names a compressor of Zarr's core specification.
type Compressor string

// The compressors for chunks that every Zarr client reads.
const (
	ZstdCompressor  Compressor = "zstd"
	GzipCompressor  Compressor = "gzip"
	BloscCompressor Compressor = "blosc" // with zstd, after a shuffle of the bytes of each element
	NoCompressor    Compressor = "none"
)

// coreCodecs are the codecs of Zarr's core specification. GDAL, TensorStore and other clients have no others.
var coreCodecs = []string{"bytes", "transpose", "gzip", "zstd", "blosc", "crc32c", shardingName}

// IsCore reports whether a type belongs to Zarr's core specification.
func (t Type) IsCore() bool {
	switch t.Kind {
	case Bool, Int, Uint, Float, Complex, Raw:
		return true
	}
	return false
}

// CoreCodecs returns codecs of Zarr's core specification for chunks of a form: specs if they are such codecs,
// otherwise little-endian elements with a compressor. An empty compressor accepts any core codecs, and selects
// zstd where specs have others. Shards stay shards.
//
// same reports whether chunks that are stored with specs are valid for the returned codecs. Some codecs of numcodecs
// differ from core codecs in their names only.
//
// Elements without a core type keep the codec that makes bytes of them.
func CoreCodecs(specs []Spec, form Form, c Compressor) (codecs []Spec, same bool, err error) {
	before, err := New(specs, form)
	if err != nil {
		return nil, false, err
	}
	if named, ok := withCoreNames(specs, form.Type); ok && (c == "" || compressorOf(named) == c) {
		after, err := New(named, form)
		if err != nil {
			return nil, false, err
		}
		err = after.CheckExact()
		if err == nil && after.SameDecode(before) {
			return named, true, nil
		}
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return nil, false, err
		}
	}
	if len(specs) == 1 && HasShards(specs) {
		codecs, err = coreShards(specs[0], form, c)
		return codecs, false, err
	}
	codecs = append([]Spec{coreBytes(form.Type)}, compress(c, form.Type)...)
	return codecs, false, nil
}

// coreBytes returns the codec that makes bytes of elements.
func coreBytes(t Type) Spec {
	switch t.Kind {
	case String:
		return Spec{Name: "vlen-utf8"}
	case Bytes:
		return Spec{Name: "vlen-bytes"}
	}
	return inMemoryOrder(t)
}

// compress returns the codec of a compressor, or none.
func compress(c Compressor, t Type) []Spec {
	switch c {
	case NoCompressor:
		return nil
	case GzipCompressor:
		return []Spec{{Name: "gzip", Config: json.RawMessage(`{"level":5}`)}}
	case BloscCompressor:
		return []Spec{{Name: "blosc", Config: bloscConfig("zstd", 5, t)}}
	}
	return []Spec{{Name: "zstd", Config: json.RawMessage(`{"level":3,"checksum":false}`)}}
}

// bloscConfig returns the configuration of Blosc for elements of a type. Blosc shuffles elements of 2 to 16 bytes;
// others gain nothing.
func bloscConfig(compressor string, level int, t Type) json.RawMessage {
	shuffle, size := "shuffle", t.Size
	if size < 2 || size > 16 {
		shuffle, size = "noshuffle", 1
	}
	return fmt.Appendf(nil, `{"typesize":%d,"cname":%q,"clevel":%d,"shuffle":%q,"blocksize":0}`, size, compressor, level, shuffle)
}

// compressorOf returns the compressor of core codecs, or "" if they have several.
func compressorOf(specs []Spec) Compressor {
	found := NoCompressor
	for _, s := range specs {
		switch s.Name {
		case "zstd", "gzip", "blosc":
			if found != NoCompressor {
				return ""
			}
			found = Compressor(s.Name)
		case shardingName:
			shards, err := s.ShardingConfig()
			if err != nil {
				return ""
			}
			found = compressorOf(shards.Codecs)
		}
	}
	return found
}

// withCoreNames returns specs with the names that the core specification has for the same codecs. ok is false if one
// of them has none.
func withCoreNames(specs []Spec, t Type) (named []Spec, ok bool) {
	for _, s := range specs {
		switch s.Name {
		case "numcodecs.gzip":
			s = Spec{Name: "gzip", Config: orDefault(s.Config, `{"level":5}`)}
		case "numcodecs.zstd":
			s = compress(ZstdCompressor, t)[0]
		case "numcodecs.blosc":
			s = compress(BloscCompressor, t)[0]
		}
		named = append(named, s)
	}
	return named, allCore(named)
}

func allCore(specs []Spec) bool { return len(Extensions(specs)) == 0 }

// Extensions returns the names of the codecs that are not in Zarr's core specification, also within shards.
func Extensions(specs []Spec) (names []string) {
	for _, s := range specs {
		if s.IsSharding() {
			if shards, err := s.ShardingConfig(); err == nil {
				names = append(names, Extensions(slices.Concat(shards.Codecs, shards.IndexCodecs))...)
			}
		} else if !slices.Contains(coreCodecs, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

func orDefault(config json.RawMessage, or string) json.RawMessage {
	if len(config) == 0 {
		return json.RawMessage(or)
	}
	return config
}

// coreShards returns shards of the same shape, with core codecs for their chunks and index.
func coreShards(s Spec, form Form, c Compressor) ([]Spec, error) {
	shards, err := s.ShardingConfig()
	if err != nil {
		return nil, err
	}
	form.Shape = shards.ChunkShape
	if shards.Codecs, _, err = CoreCodecs(shards.Codecs, form, c); err != nil {
		return nil, err
	}
	shards.IndexCodecs = IndexCodecs()
	core, err := shards.Spec()
	return []Spec{core}, err
}
