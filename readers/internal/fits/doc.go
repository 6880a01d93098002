// Package fits reads FITS files: images, compressed or not, and tables (FITS Standard 4.0).
//
// A file is a sequence of header and data units (HDUs). Each header and each data part is padded to
// a multiple of 2880 bytes (section 3). A header consists of cards of 80 characters, 36 per block,
// and ends with the card END (section 4):
//
//	0       8  10                              80
//	KEYWORD = value / comment                        a value
//	COMMENT text                                     text
//	CONTINUE  'more of a string' / comment           continues a string that ends with &
//	HIERARCH many words = value / comment            a long keyword
//
//	├ header: n × 2880 ┼ data: n × 2880 ┼ header ┼ data ┼ …
//	  SIMPLE  = T                         XTENSION= 'IMAGE', 'BINTABLE' or 'TABLE'
//
// For example, an image with BITPIX = 16, NAXIS1 = 300 and NAXIS2 = 200 has 120,000 bytes of data,
// which take 42 blocks, and the shape (200, 300).
//
// The data of an image are its elements, big-endian. NAXIS1 varies fastest, so the shape is NAXISn,
// …, NAXIS1. The data of a binary table (section 7.3) are rows of fixed size with a field for each
// column, followed by a heap for data of varying length:
//
//	├ a ┼ b ──┼ c ┤├ a ┼ b ──┼ c ┤├ …
//	└── NAXIS1 ───┘
//
// A compressed image (section 10.1) is a binary table with a row for each tile. One of three
// columns holds the position of the tile's bytes in the heap:
//
//	├ COMPRESSED_DATA ┼ GZIP_COMPRESSED_DATA ┼ UNCOMPRESSED_DATA ┼ ZSCALE ┼ ZZERO ┤
//	  count, offset
//
// Each tile becomes a chunk, unless the image has quantized floats. Then the whole table is one
// chunk, because no smaller range of bytes contains both a tile's bytes and its scale.
//
// The data of an ASCII table (section 7.2) are rows of text, whose fields TBCOLn and TFORMn
// describe. Only this package can read its numbers.
//
// An image becomes a variable of the root, named by EXTNAME or else PRIMARY, HDU1, HDU2, …. A table
// becomes a group with a variable for each column. Keywords become attributes, unless they
// describe only the structure or the compression; keywords of the first HDU also become attributes
// of the root. FITS does not name dimensions, so all dimensions are anonymous.
//
// Values are returned as stored. BSCALE, BZERO, BLANK and BUNIT (for columns TSCAL, TZERO, TNULL,
// TUNIT) are attributes, and also scale_factor, add_offset, _FillValue and units, as in netCDF. If
// BZERO only inverts the sign bit (section 5.2.5), the attribute fits_dtype names the intended
// type.
//
// The package rejects compressed tables (ZTABLE), images with smoothing or a non-standard
// compression, random groups and other extensions, with an error that names the feature. Columns of
// varying length (P and Q) are listed as undecodable.
package fits
