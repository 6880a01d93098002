// Package grib reads GRIB files, editions 1 and 2.
//
// A file is a row of messages, with anything between them. A message is one field, or in edition 2 several: a grid of values of one
// parameter, on one level, at one time. The fields of a file become variables by what they are of, and the values of a variable are
// chunks of one field each:
//
//	message ── field ── name, type of level, statistic ── variable
//	                    member, reference time, lead time, level ── dimensions; a chunk each
//	                    grid ── two dimensions, or one where its rows differ in length
//
// What is missing in such a cube is a missing chunk, and reads as NaN. Package varve/codec/grib decodes the values,
// varve/codec/grib/geo says where the points are.
//
// Specification: WMO Manual on Codes, volume I.2, FM 92 GRIB; the names are those of ecCodes.
package grib
