// Package fits reads FITS files: images, compressed or not, and tables (FITS Standard 4.0).
//
// A file is a sequence of header and data units (HDUs), each part filled up to a whole
// number of blocks of 2880 bytes (section 3). A header is cards of 80 characters, 36 a
// block, up to the card END (section 4):
//
//	0       8  10                              80
//	KEYWORD = value / comment                        a value
//	COMMENT text                                     text
//	CONTINUE  'more of a string' / comment           the string before ended with &
//	HIERARCH many words = value / comment            a long keyword
//
//	├ header: n × 2880 ┼ data: n × 2880 ┼ header ┼ data ┼ …
//	  SIMPLE  = T                         XTENSION= 'IMAGE', 'BINTABLE' or 'TABLE'
//
// The data of an image are its elements, big-endian; NAXIS1 varies fastest, so that the
// shape is NAXISn, …, NAXIS1. The data of a binary table (section 7.3) are rows of fixed
// size with a field a column, and a heap for what varies in length:
//
//	├ a ┼ b ──┼ c ┤├ a ┼ b ──┼ c ┤├ …
//	└── NAXIS1 ───┘
//
// A compressed image (section 10.1) is such a table. A row is a tile, and says where in the heap
// its bytes are, in one of three columns:
//
//	├ COMPRESSED_DATA ┼ GZIP_COMPRESSED_DATA ┼ UNCOMPRESSED_DATA ┼ ZSCALE ┼ ZZERO ┤
//	  count, offset
//
// Tiles are chunks, unless they hold floats that were quantized: then the table is one, with all that
// is in it, as nothing less holds a tile's bytes and its scale.
//
// The data of an ASCII table (section 7.2) are rows of text, with fields that TBCOLn and TFORMn
// place. Its numbers are read by this package alone.
//
// An image becomes a variable of the root, named by EXTNAME or else PRIMARY, HDU1, HDU2, …;
// a table becomes a group with a variable a column, whose storage is arithmetic. Keywords
// become attributes, those of the first HDU also attributes of the root; what only says how
// the data lie, or were compressed, does not. FITS names no dimensions, so that all are
// anonymous.
//
// Scaling stays as it is stored: elements are what the file holds, BSCALE, BZERO, BLANK
// and BUNIT (of a column TSCAL, TZERO, TNULL, TUNIT) are attributes, and stand a second time
// as scale_factor, add_offset, _FillValue and units, which is how the netCDF world spells
// them. Where BZERO only turns the sign bit over (section 5.2.5), the attribute fits_dtype
// names the type that is meant.
//
// Refused by name: compressed tables (ZTABLE), images whose coder is to smooth or is none of those
// of the standard, random groups, other extensions. Columns of varying length (P and Q) are listed
// as undecodable.
package fits
