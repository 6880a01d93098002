package source

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"varve/codec"
)

// A packed file is a file inside a compressed file or an archive. Its name is that of the outer file, and the steps to it:
//
//	ocean.nc.gz|gzip:                  the content of a file that gzip compressed
//	s3://bucket/ocean.nc.zst|zstd:     the same for zstd
//	2003.zip|zip:model/ocean.nc        a member of an archive
//	2003.tar|tar:model/ocean.nc
//	2003.tar.gz|gzip:|tar:model/ocean.nc
//
// The form is that of URL pipelines of Zarr. varve takes every name of this form for a packed file, even if a file on the disk has the
// name. Code that does not know the form finds no such file and fails, so it never takes bytes of the outer file for those of the
// packed one.
type packed struct {
	outer   string
	steps   string
	stream  codec.Stream // gzip or zstd; empty if the outer file is not compressed as a whole
	archive string       // "zip" or "tar"; empty if the decompressed file is meant
	member  string       // path in the archive
}

// packedSteps are the first steps of packed files.
var packedSteps = []string{"|gzip:", "|zstd:", "|zip:", "|tar:"}

// CutPacked separates the name of a packed file into the name of the outer file and the steps. For other names, steps is empty.
func CutPacked(name string) (outer, steps string) {
	if p, ok := parsePacked(name); ok {
		return p.outer, p.steps
	}
	return name, ""
}

// Outer returns the name of the outer file of a packed file, or the name itself. The outer file has the version of the packed
// one, and permits to read it.
func Outer(name string) string {
	outer, _ := CutPacked(name)
	return outer
}

// IsPacked reports whether a name is that of a packed file.
func IsPacked(name string) bool {
	_, steps := CutPacked(name)
	return steps != ""
}

func parsePacked(name string) (p packed, ok bool) {
	at := -1
	for _, step := range packedSteps {
		if i := strings.Index(name, step); i > 0 && (at < 0 || i < at) {
			at = i
		}
	}
	if at < 0 {
		return p, false
	}
	p.outer, p.steps = name[:at], name[at:]
	rest := p.steps
	for _, s := range []codec.Stream{codec.GzipStream, codec.ZstdStream} {
		if after, is := strings.CutPrefix(rest, "|"+string(s)+":"); is {
			p.stream, rest = s, after
			break
		}
	}
	switch after, isTar := strings.CutPrefix(rest, "|tar:"); {
	case isTar:
		p.archive, p.member = "tar", after
	case p.stream != "":
		return p, rest == ""
	default:
		p.archive, p.member = "zip", strings.TrimPrefix(rest, "|zip:")
	}
	// On Windows, an absolute path has backslashes.
	p.member = filepath.ToSlash(p.member)
	return p, p.member != "." && fs.ValidPath(p.member) && !pipelineStep.MatchString(p.member)
}

// withMember returns the name of another member of the same archive.
func (p *packed) withMember(member string) string {
	return p.outer + strings.TrimSuffix(p.steps, p.member) + member
}

// packedEnding is an ending of names of files that varve looks into.
type packedEnding struct {
	ending  string
	stream  codec.Stream
	archive string
}

var packedEndings = []packedEnding{
	{".tar.gz", codec.GzipStream, "tar"},
	{".tgz", codec.GzipStream, "tar"},
	{".tar.zst", codec.ZstdStream, "tar"},
	{".tzst", codec.ZstdStream, "tar"},
	{".tar", "", "tar"},
	{".zip", "", "zip"},
	{".gz", codec.GzipStream, ""},
	{".zst", codec.ZstdStream, ""},
}

// HasPackedEnding reports whether a name ends like that of a compressed file or an archive, such as .gz and .zip.
func HasPackedEnding(name string) bool {
	_, ok := packedBy(name)
	return ok && !IsPacked(name)
}

// IsArchive reports whether a name ends like that of an archive with any number of files, such as .zip and .tar.gz.
func IsArchive(name string) bool {
	p, ok := packedBy(name)
	return ok && p.archive != "" && !IsPacked(name)
}

// packedBy returns how a file is packed according to the ending of its name.
func packedBy(name string) (p packed, ok bool) {
	path := name
	if IsURL(name) {
		u, err := ParseURL(name)
		if err != nil {
			return p, false
		}
		path = u.Path
	}
	path = strings.ToLower(path)
	for _, e := range packedEndings {
		if strings.HasSuffix(path, e.ending) {
			p = packed{outer: name, stream: e.stream, archive: e.archive}
			if e.stream != "" {
				p.steps = fmt.Sprintf("|%s:", e.stream)
			}
			if e.archive != "" {
				p.steps += fmt.Sprintf("|%s:", e.archive)
			}
			return p, true
		}
	}
	return p, false
}
