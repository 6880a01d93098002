package blosc

// Options say how Encode makes a chunk.
type Options struct {
	Compressor string // blosclz, lz4, lz4hc, zlib or zstd
	Level      int    // 0, which stores, to 9
	Shuffle    Shuffle
	TypeSize   int // bytes of an element; above 255 counts as 1, as in c-blosc
	BlockSize  int // bytes; 0 leaves the choice to Encode
}

// A Shuffle is what happens to a block before it is compressed.
type Shuffle uint8

// The shuffles, by the numbers numcodecs and HDF5 use.
const (
	NoShuffle   Shuffle = 0
	ByteShuffle Shuffle = 1
	BitShuffle  Shuffle = 2
)
