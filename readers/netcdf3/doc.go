// Package netcdf3 reads the three classic formats of netCDF: CDF-1, CDF-2 with offsets of
// 64 bits, and CDF-5 with lengths of 64 bits and more types.
//
// A file is a header and then data at the offsets that the header gives; there is no
// index (netCDF Classic Format Specification; numbers are big-endian, n is 4 bytes in
// CDF-1 and CDF-2 and 8 in CDF-5, off is 4 bytes in CDF-1 and else 8):
//
//	"CDF" version  numrecs n  dim_list  att_list  var_list  │ fixed variables │ records
//
//	list      tag(4) n elements…        tag 10 dimensions, 11 variables, 12 attributes;
//	                                    0 and 0 where there is none
//	name      n bytes… padded to 4
//	dimension name  length n            0: the record dimension
//	attribute name  type(4)  n  values… padded to 4
//	variable  name  rank n  dimension ids n…  att_list  type(4)  vsize n  begin off
//
// A variable whose first dimension is the record dimension has one slab a record, and the
// slabs of all such variables are interleaved, each padded to 4 bytes, unless there is
// only one such variable:
//
//	begin A     begin B        begin A + recsize
//	├ A[0] ─ pad ┼ B[0] ─ pad ──┼ A[1] ─ pad ┼ B[1] ─ pad ┼ …
//	└──────────── recsize ──────┘
//
// vsize is not trusted: it cannot say what is over 4 GiB, so that sizes come from shapes.
// A numrecs of all ones means that a writer streamed and could not go back; the number of
// records then follows from the size of the file.
//
// Where this package and netcdf-c differ, it is over damage: netcdf-c reads zeros where a
// file ends early, here that is an error of the read and a problem of the dataset.
package netcdf3
