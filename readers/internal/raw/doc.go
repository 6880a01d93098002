// Package raw reads arrays that follow a small header, or lie beside one: ENVI, NIfTI, NRRD, MRC, NumPy and MITgcm's MDS, and
// arrays without a header that an option describes.
//
// Each format has a parser, which turns a header into descriptions of arrays. The rest is the same for all:
//
//	header ── parser ── array ── builder.add ── readers.Variable
//	                    ├ type, shape, names of axes
//	                    ├ order of the axes in the file
//	                    ├ file, offset
//	                    └ scale, missing value, attributes
//
// An array has the shape that the tool of its format shows: nibabel and pynrrd have x first, GDAL has bands first. If the elements
// are stored in this order, any rows are a range of bytes. Otherwise the array is cut into slabs that are ranges of bytes, and the
// codec "transpose" turns each. The engine compares the size that a header claims with the size of the file, in both directions:
// a file that is too long has another shape or type than its header says.
package raw
