package codec

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"varve/codec/internal/ccitt"
)

// Client is a Zarr reader other than varve.
type Client uint8

// The clients, from the most to the least common.
const (
	AnyClient       Client = iota + 1 // zarr-python as it is installed
	WithCastValue                     // zarr-python with cast-value-rs
	WithImagecodecs                   // zarr-python with imagecodecs-zarr
	WithKerchunk                      // zarr-python with kerchunk and eccodes, in format 2
	WithGribberish                    // zarr-python with gribberish
	NoClient                          // no client: varve re-encodes such chunks
)

// String returns the client's name in docs/reference/codecs.md.
func (c Client) String() string {
	return [...]string{"", "any", "cast-value-rs", "imagecodecs-zarr", "kerchunk and eccodes", "gribberish", "none"}[c]
}

// Info is one row of the table of codecs.
type Info struct {
	Name   string // in a v3 document; names with "hdf5.", "hdf4.", "fits." and "grib." are in none
	V2     string // id in a v2 document, or ""
	Filter int    // id of the HDF5 filter that stores these bytes, or 0
	Client Client
	Sums   bool // stored bytes have a checksum, or may have one, that Decode verifies
	new    func(*config, Form) (Codec, error)
}

// Table returns every codec that varve has, in the order of its documentation.
func Table() []Info { return slices.Clone(table()) }

// Lookup returns the codec with a name in a v3 document.
func Lookup(name string) (Info, bool) {
	return find(func(e *Info) bool { return e.Name == name })
}

// LookupV2 returns the codec with an id in a v2 document.
func LookupV2(id string) (Info, bool) {
	return find(func(e *Info) bool { return e.V2 == id && id != "" })
}

// LookupFilter returns the codec that decodes the bytes of an HDF5 filter.
func LookupFilter(id int) (Info, bool) {
	return find(func(e *Info) bool { return e.Filter == id && id != 0 })
}

func find(match func(*Info) bool) (Info, bool) {
	list := table()
	for i := range list {
		if match(&list[i]) {
			return list[i], true
		}
	}
	return Info{}, false
}

// codecTable is the table. It is made on first use: the constructor of sharding looks up
// other codecs, which would be an initialization cycle.
var codecTable struct {
	once sync.Once
	list []Info
}

func table() []Info {
	codecTable.once.Do(func() { codecTable.list = newTable() })
	return codecTable.list
}

func newTable() []Info {
	return []Info{
		{Name: "bytes", Client: AnyClient, new: newBytes},
		{Name: "transpose", Client: AnyClient, new: newTranspose},
		{Name: shardingName, Client: AnyClient, Sums: true, new: newSharding},
		{Name: "gzip", Client: AnyClient, Sums: true, new: newGzip},
		{Name: "zstd", Client: AnyClient, Sums: true, new: newZstd},
		{Name: "crc32c", Client: AnyClient, Sums: true, new: newCRC32C},
		{Name: "numcodecs.gzip", V2: "gzip", Client: AnyClient, Sums: true, new: newGzip},
		{Name: "numcodecs.zlib", V2: "zlib", Filter: 1, Client: AnyClient, Sums: true, new: newZlib},
		{Name: "numcodecs.zstd", V2: "zstd", Filter: 32015, Client: AnyClient, Sums: true, new: newZstd},
		{Name: "numcodecs.shuffle", V2: "shuffle", Filter: 2, Client: AnyClient, new: newShuffle},
		{Name: "numcodecs.fletcher32", V2: "fletcher32", Filter: 3, Client: AnyClient, Sums: true, new: newFletcher32},
		{Name: "numcodecs.crc32", V2: "crc32", Client: AnyClient, Sums: true, new: newCRC32},
		{Name: "numcodecs.adler32", V2: "adler32", Client: AnyClient, Sums: true, new: newAdler32},
		{Name: "numcodecs.crc32c", V2: "crc32c", Client: AnyClient, Sums: true, new: newNumcodecsCRC32C},
		{Name: "vlen-utf8", V2: "vlen-utf8", Client: AnyClient, new: newVLenUTF8},
		{Name: "vlen-bytes", V2: "vlen-bytes", Client: AnyClient, new: newVLenBytes},
		{Name: "scale_offset", Client: AnyClient, new: newZarrScaleOffset},
		{Name: "cast_value", Client: WithCastValue, new: newCastValue},
		{Name: "numcodecs.delta", V2: "delta", Client: AnyClient, new: newDelta},
		{Name: "numcodecs.fixedscaleoffset", V2: "fixedscaleoffset", Client: AnyClient, new: newFixedScaleOffset},
		{Name: "numcodecs.quantize", V2: "quantize", Client: AnyClient, new: newQuantize},
		{Name: "numcodecs.bitround", V2: "bitround", Client: AnyClient, new: newBitRound},
		{Name: "numcodecs.astype", V2: "astype", Client: AnyClient, new: newAsType},
		{Name: "numcodecs.packbits", V2: "packbits", Client: AnyClient, new: newPackBits},
		{Name: "blosc", Client: AnyClient, new: newBlosc},
		{Name: "numcodecs.blosc", V2: "blosc", Filter: 32001, Client: AnyClient, new: newNumcodecsBlosc},
		{Name: "numcodecs.bz2", V2: "bz2", Filter: 307, Client: AnyClient, Sums: true, new: newBzip2},
		{Name: "numcodecs.lzma", V2: "lzma", Client: AnyClient, Sums: true, new: newLZMA},
		{Name: "numcodecs.lz4", V2: "lz4", Client: AnyClient, new: newLZ4},
		{Name: "imagecodecs_lz4h5", V2: "imagecodecs_lz4h5", Filter: 32004, Client: WithImagecodecs, new: newLZ4H5},
		{Name: "imagecodecs_szip", V2: "imagecodecs_szip", Filter: 4, Client: WithImagecodecs, new: newSzip},
		{Name: "imagecodecs_lzw", V2: "imagecodecs_lzw", Client: WithImagecodecs, new: newLZW},
		{Name: "imagecodecs_packbits", V2: "imagecodecs_packbits", Client: WithImagecodecs, new: newTIFFPackBits},
		{Name: "imagecodecs_delta", Client: WithImagecodecs, new: newTIFFDelta},
		{Name: "imagecodecs_floatpred", Client: WithImagecodecs, new: newTIFFFloats},
		{Name: "imagecodecs_packints", Client: WithImagecodecs, new: newPackedInts},
		{Name: "imagecodecs_ccittrle", Client: WithImagecodecs, new: newCCITT(ccitt.Huffman)},
		{Name: "imagecodecs_ccittfax3", Client: WithImagecodecs, new: newCCITT(ccitt.Group3)},
		{Name: "imagecodecs_ccittfax4", Client: WithImagecodecs, new: newCCITT(ccitt.Group4)},
		{Name: "imagecodecs_webp", V2: "imagecodecs_webp", Client: WithImagecodecs, new: newWebP},
		{Name: "imagecodecs_jpeg", V2: "imagecodecs_jpeg", Client: WithImagecodecs, new: newJPEG},
		{Name: "imagecodecs_lerc", V2: "imagecodecs_lerc", Client: WithImagecodecs, Sums: true, new: newLERC},
		{Name: "tiff.lerc", Client: NoClient, Sums: true, new: newLERC},
		{Name: "tiff.band", Client: NoClient, new: newTIFFBand},
		{Name: "tiff.bitorder", Client: NoClient, new: newBitOrder},
		{Name: "reshape", Client: NoClient, new: newReshape},
		{Name: "conditional", Client: NoClient, Sums: true, new: newConditional},
		{Name: "optional", Client: NoClient, Sums: true, new: newConditional},
		{Name: "hdf5.nbit", Filter: 5, Client: NoClient, new: newNbit},
		{Name: "hdf5.scaleoffset", Filter: 6, Client: NoClient, new: newScaleOffset},
		{Name: "hdf5.lzf", Filter: 32000, Client: NoClient, new: newLZF},
		{Name: "hdf5.bitshuffle", Filter: 32008, Client: NoClient, new: newBitshuffle},
		{Name: "hdf5.sz", Filter: 32017, Client: NoClient, new: newSZ},
		{Name: "hdf5.sz3", Filter: 32024, Client: NoClient, new: newSZ3},
		{Name: "hdf5.jpegls", Filter: 32018, Client: NoClient, new: newJPEGLS},
		{Name: "hdf5.sperr", Filter: 32028, Client: NoClient, new: newSperr},
		{Name: "hdf5.zfp", Filter: 32013, Client: NoClient, new: newZFP},
		{Name: "hdf5.blosc2", Filter: 32026, Client: NoClient, new: newBlosc2},
		{Name: "hdf4.rle", Client: NoClient, new: newHDF4RLE},
		{Name: "hdf4.nbit", Client: NoClient, new: newHDF4Nbit},
		{Name: "hdf4.skphuff", Client: NoClient, new: newHDF4SkippingHuffman},
		{Name: "fits.rice", Client: NoClient, new: newFITSRice},
		{Name: "fits.plio", Client: NoClient, new: newFITSPLIO},
		{Name: "fits.hcompress", Client: NoClient, new: newFITSHCompress},
		{Name: "fits.quantized", Client: NoClient, Sums: true, new: newFITSQuantized},
		{Name: "grib.message", Client: NoClient, new: newGRIBMessage},
		{Name: "grib", V2: "grib", Client: WithKerchunk, new: newKerchunkGRIB},
		{Name: "gribberish", Client: WithGribberish, new: newGribberish},
		{Name: "grib.coordinate", Client: NoClient, new: newGRIBCoordinate},
	}
}

// refusedCodecs are existing codecs that varve does not decode, and the reasons.
var refusedCodecs = map[string]string{
	"numcodecs.zfpy":            "ZFP is decoded where HDF5 stored it, and not in Zarr",
	"numcodecs.pcodec":          "varve has no decoder for pcodec",
	"numcodecs.jenkins_lookup3": "varve does not know this checksum",
	"numcodecs.categorize":      "categories are not decoded",
	"numcodecs.json2":           "objects stored as JSON are not decoded",
	"numcodecs.msgpack2":        "objects stored as MessagePack are not decoded",
	"numcodecs.pickle":          "pickled objects can run code and are never decoded",
	"imagecodecs_bitshuffle":    "its configuration does not say the element size, so that clients decode wrong values",
	"imagecodecs_jpeg2k":        "JPEG 2000 is decoded where GRIB stored it, and not in Zarr",
	"imagecodecs_jpegls":        "JPEG-LS is decoded where HDF5 stored it, and not in Zarr",
	"imagecodecs_jpegxl":        "varve has no decoder for JPEG XL",
	"imagecodecs_lzf":           "it guesses the decoded size; HDF5's own LZF is \"hdf5.lzf\"",
	"imagecodecs_sz3":           "SZ 3 is decoded where HDF5 stored it, and not in Zarr",
	"imagecodecs_zfp":           "ZFP is decoded where HDF5 stored it, and not in Zarr",
	"zfp":                       "ZFP is decoded where HDF5 stored it, and not in Zarr",
	"pcodec":                    "varve has no decoder for pcodec",
	"jpeg":                      "varve decodes JPEG as \"imagecodecs_jpeg\"",
	"packbits":                  "it packs elements of any width; varve decodes \"numcodecs.packbits\", for booleans",
}

// newCodec returns the codec of spec for chunks of the given form.
func newCodec(spec Spec, in Form) (Codec, error) {
	info, ok := Lookup(spec.Name)
	if !ok {
		if why, known := refusedCodecs[spec.Name]; known {
			return nil, fmt.Errorf("codec %q: %s; copy the data with another codec: %w", spec.Name, why, errors.ErrUnsupported)
		}
		return nil, fmt.Errorf("codec %q is unknown: %w", spec.Name, errors.ErrUnsupported)
	}
	c, err := newConfig(spec)
	if err != nil {
		return nil, err
	}
	codec, err := info.new(c, in)
	if err != nil {
		return nil, err
	}
	return codec, c.check()
}
