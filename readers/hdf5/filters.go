package hdf5

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"varve/codec"
	"varve/readers"
)

// Numbers of filters (registered with The HDF Group).
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

// filterNames names filters that a file does not have to name.
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

// filterConfigs says how the codec that undoes a filter is configured. Codecs that only
// HDF5 knows take the client values as they are.
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
	return object{"elementsize": min(max(size, 1), 1<<30)} // a larger one leaves any chunk as it is
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

// bloscConfig turns the client values of blosc into what numcodecs calls them: 4 is the
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

// resolveFilters says of each filter what undoes it, or why nothing does.
func resolveFilters(filters []readers.Filter, t *readers.Type) {
	var room [64]byte
	for i := range filters {
		x := &filters[i]
		key := filterKey(room[:0], x, t)
		known, ok := knownFilters.get(key)
		if !ok {
			known = resolveFilter(*x, t)
			knownFilters.put(key, known)
		}
		x.Name, x.Codec, x.Err = known.Name, known.Codec, known.Err
	}
}

// filterKey is equal for filters that are undone alike.
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

// undecodable returns the first reason why chunks that all filters were applied to
// cannot be decoded.
func undecodable(filters []readers.Filter) error {
	for _, f := range filters {
		if f.Err != nil {
			return f.Err
		}
	}
	return nil
}

// rawPipeline is the pipeline that undoes filters and leaves elements as they are stored.
func rawPipeline(filters []readers.Filter, mask uint32, form codec.Form) (*codec.Pipeline, error) {
	p := readers.Pipeline{Bytes: codec.Spec{Name: "bytes"}, Filters: filters}
	specs, err := p.Specs(mask)
	if err != nil {
		return nil, err
	}
	return codec.New(specs, form)
}

// rawForm is that of elements as they are stored.
func rawForm(elements, size int) codec.Form {
	return codec.Form{Type: codec.Type{Kind: codec.Raw, Size: size}, Shape: []int64{int64(elements)}}
}

// undoFilters decodes stored bytes that must become size bytes.
func undoFilters(filters []readers.Filter, mask uint32, stored []byte, size int) ([]byte, error) {
	p, err := rawPipeline(filters, mask, rawForm(size, 1))
	if err != nil {
		return nil, err
	}
	out := make([]byte, size)
	if err := p.Decode(codec.Elems{Fixed: out}, stored); err != nil {
		if errors.Is(err, errors.ErrUnsupported) {
			return nil, err
		}
		return nil, fmt.Errorf("undoing filters: %w", err)
	}
	return out, nil
}
