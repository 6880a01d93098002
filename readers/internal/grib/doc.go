// Package grib reads GRIB files, editions 1 and 2.
//
// A file is a sequence of messages; bytes between messages are ignored. A message has one field, or several in edition 2. A field is a
// grid of values of one parameter, on one level, at one time. Fields of the same quantity become one variable, and each field is one chunk
// of it:
//
//	message ── field ── name, type of level, statistic ── variable
//	                    member, reference time, lead time, level ── dimensions; a chunk each
//	                    grid ── two dimensions, or one if its rows differ in length
//
// If the file has no field for some coordinates, the chunk is missing and its values are NaN. Package varve/codec/grib decodes the values,
// and varve/codec/grib/geo computes the coordinates of the points.
//
// Specification: WMO Manual on Codes, volume I.2, FM 92 GRIB; names are taken from ecCodes.
package grib
