// Package netcdf3 reads the three classic formats of netCDF: CDF-1, CDF-2 (64-bit offsets) and
// CDF-5 (64-bit lengths and more types).
//
// A file is a header followed by data at the offsets in the header; there is no index (netCDF
// Classic Format Specification). Numbers are big-endian. n has 4 bytes in CDF-1 and CDF-2, and 8 in
// CDF-5; off has 4 bytes in CDF-1, and 8 otherwise:
//
//	"CDF" version  numrecs n  dim_list  att_list  var_list  │ fixed variables │ records
//
//	list      tag(4) n elements…        tag 10 dimensions, 11 variables, 12 attributes;
//	                                    0 and 0 for an absent list
//	name      n bytes… padded to 4
//	dimension name  length n            0: the record dimension
//	attribute name  type(4)  n  values… padded to 4
//	variable  name  rank n  dimension ids n…  att_list  type(4)  vsize n  begin off
//
// For example, the dimension x of length 3 in CDF-1 is 00000001 78000000 00000003.
//
// A variable whose first dimension is the record dimension has one slab per record. The slabs of
// all such variables are interleaved, each padded to 4 bytes, unless there is only one such
// variable:
//
//	begin A     begin B        begin A + recsize
//	├ A[0] ─ pad ┼ B[0] ─ pad ──┼ A[1] ─ pad ┼ B[1] ─ pad ┼ …
//	└──────────── recsize ──────┘
//
// The reader computes sizes from shapes and ignores vsize, which cannot represent sizes over 4 GiB.
// A numrecs of all ones means that the writer streamed the file; the number of records then follows
// from the file's size.
//
// The package differs from netcdf-c for truncated files: netcdf-c reads zeros for missing bytes,
// while this package returns an error for the variable and reports a problem.
package netcdf3
