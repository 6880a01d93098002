// Package plantest writes archives as text and reads them again: the headers of files, and the values that a plan
// requires. Tests of the planner keep their cases in this form, so that a scientist can read them.
//
//	option coords first
//	file jan.nc
//	  time(time*=31) int32 = 0..30
//	    @units "days since 1990-01-01"
//	  t(time*=31 lat=3) float32 chunks 31x3 codecs little,shuffle:4,zlib:1
//	  mask(lat=3) int8 on request = 0 1 1
//	file feb.nc like jan.nc with time=28
//	  time = 31..58
//
// One line each:
//
//	option NAME VALUE          an option of "varve build"
//	file NAME like NAME with DIM=LENGTH …
//	                           a file. The lines of another file apply, with other lengths of dimensions and of chunks
//	                           that are as long; lines that follow replace those of the same variable or attribute.
//	@NAME VALUE                an attribute of the variable or group above it; of the root before any of these
//	group PATH                 a group
//	dim NAME=LENGTH …          a dimension, if the variables do not say all; "anonymous", and "like" with other names
//	NAME(DIM=LENGTH …) TYPE …  a variable. A star marks an unlimited dimension.
//	NAME = VALUES              other values of a variable of the file that this one is like
//	part N at I,I from J,J shape K,K
//	                           a box of the variable above it that is in the file with the number N
//	values NAME = VALUES       long values, to which variables refer as = NAME
//
// The words after the type of a variable say how it is stored: in compressed chunks of its whole shape, without others.
//
//	chunks 31x3  edges 10x3,5 1x2  data-sizes 10x3,2 1x2  codecs LIST  filters N  raw-edges
//	contiguous  strided BYTES  inline  nothing  parted  valued
//	fill VALUE  unset VALUE  enum clear=0,cloudy=1  unreadable TEXT  elsewhere FOLDER  damaged
//
// Elements that were never written have the value of "fill", which the file declares, or of "unset".
//
// Values are numbers, quoted texts, or hexadecimal bytes. 0..30 counts by one, 0..90/181 are 181 numbers at equal
// distances, and 0..1:0.1 is 0, 0.1, 0.2 and so on. 5*12 is twelve times 5. chars "2014" are single bytes. "digest ID"
// and "summary …" are values of which only this is known. A scan reads the values after "=", and those after
// "on request =" only if a plan asks.
package plantest

import (
	"strings"

	"varve/manifest"
	"varve/manifest/plan"
)

// Archive is the files of an archive, with options.
type Archive struct {
	Options plan.Options
	Files   []*manifest.File
	// OnRequest has the values that a scan does not read, by file and variable.
	OnRequest map[Place]*manifest.Values
}

// Place is a variable of a file.
type Place struct{ File, Variable int }

// root is where the files are.
const root = "/archive/"

// NameOf returns the name of a file in the text.
func NameOf(f *manifest.File) string { return strings.TrimPrefix(f.URL, root) }
