package codec

import (
	"encoding/json"
	"slices"
	"strings"
)

// Filter is a filter of HDF5, as files describe it.
type Filter struct {
	ID     int
	Name   string
	Values []uint32 // client data
}

// IsPlugin reports whether libhdf5 reads the filter only with a plugin. Szip counts as built in, because most builds have it.
func (f Filter) IsPlugin() bool { return f.ID > filterSzip }

// Numbers of filters that libhdf5 has itself, and of plugins whose client data must be made.
const (
	filterShuffle = 2
	filterSzip    = 4
	filterBlosc   = 32001
)

// HDF5Filters returns the byte order and the filters with which HDF5 decodes chunks that are stored with specs. size is the
// size of an element in bytes. ok is false if HDF5 has no such filters.
func HDF5Filters(specs []Spec, size int) (order string, filters []Filter, ok bool) {
	if len(specs) == 0 {
		return "", nil, false
	}
	if order, ok = specs[0].ByteOrder(); !ok {
		return "", nil, false
	}
	for _, s := range specs[1:] {
		info, known := Lookup(s.Name)
		if !known || info.Filter == 0 {
			return "", nil, false
		}
		f := Filter{ID: info.Filter, Name: strings.TrimPrefix(s.ShortName(), "imagecodecs_")}
		var c filterConfig
		if len(s.Config) > 0 && json.Unmarshal(s.Config, &c) != nil {
			return "", nil, false
		}
		if f.ID == filterSzip && !c.Header {
			return "", nil, false // HDF5 stores the decoded size before the stream
		}
		f.Values = c.values(f.ID, uint32(size))
		filters = append(filters, f)
	}
	return order, filters, true
}

// filterConfig has the fields of the configurations of codecs from which the client data of a filter follow.
type filterConfig struct {
	ClientValues []uint32 `json:"cd_values"`
	Level        *int32   `json:"level"`
	ElementSize  *uint32  `json:"elementsize"`

	Options           *uint32 `json:"options_mask"`
	PixelsPerBlock    uint32  `json:"pixels_per_block"`
	BitsPerPixel      uint32  `json:"bits_per_pixel"`
	PixelsPerScanline uint32  `json:"pixels_per_scanline"`
	Header            bool    `json:"header"`

	Compressor string `json:"cname"`
	BloscLevel uint32 `json:"clevel"`
	Shuffle    uint32 `json:"shuffle"`
}

func (c *filterConfig) values(id int, size uint32) []uint32 {
	switch {
	case c.ClientValues != nil:
		return c.ClientValues
	case c.ElementSize != nil:
		return []uint32{*c.ElementSize}
	case id == filterShuffle:
		return []uint32{size}
	case c.Options != nil:
		return []uint32{*c.Options, c.PixelsPerBlock, c.BitsPerPixel, c.PixelsPerScanline}
	case id == filterBlosc:
		// The version of the filter and of the format, the size of an element, and the size of a chunk, which readers do not use.
		compressors := []string{"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"}
		return []uint32{2, 2, size, 0, c.BloscLevel, c.Shuffle, uint32(max(slices.Index(compressors, c.Compressor), 0))}
	case c.Level != nil:
		return []uint32{uint32(*c.Level)}
	}
	return nil
}
