package hdf5

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"varve/codec"
	"varve/readers"
)

// Filter identification numbers, as registered with The HDF Group.
const (
	filterDeflate     = 1
	filterShuffle     = 2
	filterFletcher32  = 3
	filterSzip        = 4
	filterNbit        = 5
	filterScaleOffset = 6
	filterBzip2       = 307
	filterLZF         = 32000
	filterBlosc       = 32001
	filterLZ4         = 32004
	filterBitshuffle  = 32008
	filterZFP         = 32013
	filterZstd        = 32015
	filterBlosc2      = 32026
)

// filterNames holds the names of filters for files that store only the number.
var filterNames = map[int]string{
	filterDeflate:     "deflate",
	filterShuffle:     "shuffle",
	filterFletcher32:  "fletcher32",
	filterSzip:        "szip",
	filterNbit:        "nbit",
	filterScaleOffset: "scaleoffset",
	305:               "lzo",
	filterBzip2:       "bzip2",
	filterLZF:         "lzf",
	filterBlosc:       "blosc",
	32003:             "snappy",
	filterLZ4:         "lz4",
	filterBitshuffle:  "bitshuffle",
	filterZFP:         "zfp",
	32014:             "fpzip",
	filterZstd:        "zstd",
	32017:             "sz",
	32018:             "jpeg-ls",
	32022:             "bitgroom",
	32023:             "granular bitround",
	32024:             "sz3",
	filterBlosc2:      "blosc2",
	32027:             "delta-rice",
	32028:             "sperr",
}

// filterConfigs holds functions that return the configuration of a filter's codec. Codecs that are
// specific to HDF5 take the client data values unchanged.
var filterConfigs = map[int]func(values []uint32, t *readers.Type) any{
	filterDeflate:    deflateConfig,
	filterShuffle:    shuffleConfig,
	filterFletcher32: emptyConfig,
	filterSzip:       szipConfig,
	filterBzip2:      bzip2Config,
	filterBlosc:      bloscConfig,
	filterLZ4:        emptyConfig,
	filterZstd:       zstdConfig,
}

type object = map[string]any

func emptyConfig([]uint32, *readers.Type) any { return object{} }

func clientConfig(v []uint32, _ *readers.Type) any {
	if v == nil {
		v = []uint32{}
	}
	return object{"cd_values": v}
}

func at(v []uint32, i int, absent uint32) uint32 {
	if i < len(v) {
		return v[i]
	}
	return absent
}

func deflateConfig(v []uint32, _ *readers.Type) any { return object{"level": min(at(v, 0, 1), 9)} }

func zstdConfig(v []uint32, _ *readers.Type) any {
	return object{"level": min(max(int32(at(v, 0, 3)), -131072), 22), "checksum": false}
}

func bzip2Config(v []uint32, _ *readers.Type) any {
	return object{"level": min(max(at(v, 0, 9), 1), 9)}
}

func shuffleConfig(v []uint32, t *readers.Type) any {
	size := at(v, 0, 0)
	if size == 0 && t != nil {
		size = uint32(t.Size)
	}
	// The codec copies chunks unchanged if the element size exceeds the chunk, as the filter does.
	return object{"elementsize": min(max(size, 1), 1<<30)}
}

func szipConfig(v []uint32, _ *readers.Type) any {
	return object{
		"options_mask":        at(v, 0, 0),
		"pixels_per_block":    at(v, 1, 0),
		"bits_per_pixel":      at(v, 2, 0),
		"pixels_per_scanline": at(v, 3, 0),
		"header":              true,
	}
}

// bloscConfig converts the client data values of Blosc to the names in numcodecs: value 4 is the
// level, 5 the shuffle, 6 the compressor.
func bloscConfig(v []uint32, _ *readers.Type) any {
	names := []string{"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"}
	return object{
		"cname":     names[min(at(v, 6, 0), uint32(len(names)-1))],
		"clevel":    min(at(v, 4, 5), 9),
		"shuffle":   min(at(v, 5, 1), 2),
		"blocksize": 0,
	}
}

// resolveFilters sets the name of each filter and its codec, or the reason why it has none.
func resolveFilters(filters []readers.Filter, t *readers.Type) {
	var room [64]byte
	for i := range filters {
		x := &filters[i]
		key := filterKey(room[:0], x, t)
		known, ok := filterCache.get(key)
		if !ok {
			known = resolveFilter(*x, t)
			filterCache.put(key, known)
		}
		x.Name, x.Codec, x.Err = known.Name, known.Codec, known.Err
	}
}

// filterKey returns a key that is equal for filters with the same codec configuration.
func filterKey(key []byte, f *readers.Filter, t *readers.Type) []byte {
	key = append(key, f.Name...)
	key = binary.LittleEndian.AppendUint32(append(key, 0), uint32(f.ID))
	if t != nil {
		key = binary.LittleEndian.AppendUint32(key, uint32(t.Size))
	}
	for _, v := range f.Values {
		key = binary.LittleEndian.AppendUint32(key, v)
	}
	return key
}

func resolveFilter(f readers.Filter, t *readers.Type) readers.Filter {
	if f.Name == "" {
		f.Name = filterNames[f.ID]
	}
	info, ok := codec.LookupFilter(f.ID)
	if !ok {
		f.Err = unsupported("HDF5 filter %d (%s, client values %d) has no decoder in varve; rewrite the file with another filter (h5repack -f)", f.ID, f.Name, f.Values)
		return f
	}
	config := filterConfigs[f.ID]
	if config == nil {
		config = clientConfig
	}
	raw, err := json.Marshal(config(f.Values, t))
	f.Codec, f.Err = codec.Spec{Name: info.Name, Config: raw}, err
	return f
}

// undecodable returns the first reason why chunks to which all filters were applied cannot be
// decoded, or nil.
func undecodable(filters []readers.Filter) error {
	for _, f := range filters {
		if f.Err != nil {
			return f.Err
		}
	}
	return nil
}

// rawPipeline returns a pipeline that decodes filters and leaves elements as stored.
func rawPipeline(filters []readers.Filter, mask uint32, form codec.Form) (*codec.Pipeline, error) {
	p := readers.Pipeline{Bytes: codec.Spec{Name: "bytes"}, Filters: filters}
	specs, err := p.Specs(mask)
	if err != nil {
		return nil, err
	}
	return codec.New(specs, form)
}

// rawForm returns the form of elements as stored.
func rawForm(elements, size int) codec.Form {
	return codec.Form{Type: codec.Type{Kind: codec.Raw, Size: size}, Shape: []int64{int64(elements)}}
}

// decodeFilters decodes stored bytes, which must give exactly size bytes.
func decodeFilters(filters []readers.Filter, mask uint32, stored []byte, size int) ([]byte, error) {
	p, err := rawPipeline(filters, mask, rawForm(size, 1))
	if err != nil {
		return nil, err
	}
	out := make([]byte, size)
	if err := p.Decode(codec.Elems{Fixed: out}, stored); err != nil {
		// A missing codec is not damage: keep its own error.
		if errors.Is(err, errors.ErrUnsupported) {
			return nil, err
		}
		return nil, fmt.Errorf("decode filters: %w", err)
	}
	return out, nil
}
