package readers

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"varve/readers/source"
)

// Format describes a format: how its sources are found, its options, and its reader. Package formats has those of varve, and
// registers others.
type Format struct {
	// Name is the name for users. Dataset.Format is it or one of Aliases, or begins with one of them and a blank.
	Name    string
	Aliases []string

	// Magic lists marks. Each source is a file that has one of them. It is not needed if Detect is set.
	Magic []Magic
	// Detect reports whether a source has the format, for formats that Magic cannot describe. The source may be a folder: see
	// Source.IsFolder. It returns an error only if it cannot read the source.
	Detect func(ctx context.Context, src *source.Source) (bool, error)
	// Search reports whether a file has the format although it begins with something else. Only files in whose first bytes no format
	// is recognized are searched.
	Search func(ctx context.Context, src *source.Source) (bool, error)

	// Suffixes are the usual ends of names in lower case, such as ".grib2". A source may have any name; the suffixes tell
	// sidecars, and may have upper case there.
	Suffixes []string
	// Sidecar returns the names, with or without one of Suffixes, of the sources that are read with the file of a name. It
	// returns none for other files. A sidecar of a source is not a source itself. nil means that there are no sidecars.
	Sidecar func(name string) []string
	// SidecarHasData says that the data of a source are in its sidecar. Then a file with the name of a sidecar is one only if the
	// source has the format, since files of other formats would be left out otherwise.
	SidecarHasData bool

	Options []Option
	// New returns a reader, with a value of each option in Config.Settings. One reader opens many sources at once, so what it
	// keeps for all of them must be safe for concurrent use.
	New func(c *Config) Reader

	// Describe adds what "varve inspect --json" prints of a source, for formats that have words of their own. nil describes the
	// Dataset.
	Describe func(ctx context.Context, src *source.Source, o *DescribeOptions, doc map[string]any) error

	// MetadataSums reports that metadata and indexes have checksums, so that reading them again proves that they are unchanged.
	MetadataSums bool
	// SubtractsOffset reports that values are scale_factor · (stored - add_offset), unlike in CF: scale_factor · stored + add_offset.
	SubtractsOffset bool
	// OwnAttributes are attributes that libraries of the format write for their own use, and that do not describe data. Those of a
	// registered format are removed from the datasets of its sources only.
	OwnAttributes []string
}

// DescribeOptions say what a description has.
type DescribeOptions struct {
	Allow    []string // see Config.Allow
	Checksum bool     // list every chunk, and hash the list
	Values   bool     // read every value, and hash them
}

// PartialError is the error of a source that is described except for its damaged parts.
type PartialError struct{ Err error }

// Error returns the text of the error.
func (e *PartialError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *PartialError) Unwrap() error { return e.Err }

// Magic is a text that identifies a format.
type Magic struct {
	At    int64 // offset in the file
	Bytes string
}

// Reader opens sources of one format. Package readertest checks what a reader must do.
type Reader interface {
	// Open reads the source's metadata. The dataset reads from src as long as it is in use; the
	// caller closes src afterwards.
	Open(ctx context.Context, src *source.Source) (*Dataset, error)
}

// Finder is a Reader whose settings decide which sources have the format. It is asked about sources that no other format has.
type Finder interface {
	Finds(ctx context.Context, src *source.Source) (bool, error)
}

// Config says how sources are read. Nil equals the zero value.
type Config struct {
	// Allow lists the folders in which a source may refer to other files, besides its own folder.
	Allow []string
	// Opener opens files that sources name, and sidecars. It does not read an archive again that it has read. nil means that a
	// reader makes an Opener for each file, and reads no sidecars.
	Opener *source.Opener
	// NoSidecars reads everything from the sources themselves that is in them, as indexes beside them are not needed.
	NoSidecars bool
	// Settings are values of options. Others have their defaults.
	Settings Settings
}

// Detects reports whether a source has the format.
func (f *Format) Detects(ctx context.Context, src *source.Source) (bool, error) {
	if f.Detect != nil {
		return f.Detect(ctx, src)
	}
	for _, m := range f.Magic {
		if src.IsFolder() || src.Size() < m.At+int64(len(m.Bytes)) {
			continue
		}
		got, err := src.View(ctx, m.At, len(m.Bytes))
		if err != nil {
			return false, err
		}
		if bytes.Equal(got, []byte(m.Bytes)) {
			return true, nil
		}
	}
	return false, ctx.Err()
}

// Reader returns a reader. Settings of other formats do nothing; an invalid value of an option is an error.
func (f *Format) Reader(c *Config) (Reader, error) {
	own := Config{}
	if c != nil {
		own = *c
	}
	given := own.Settings
	own.Settings = Settings{}
	for i := range f.Options {
		o := &f.Options[i]
		value, err := o.Value(given)
		if err != nil {
			return nil, fmt.Errorf("%s %v: %w", o.Name, given[o.Name], err)
		}
		own.Settings[o.Name] = value
	}
	return f.New(&own), nil
}

// Describes reports whether the format is the one of a Dataset.Format.
func (f *Format) Describes(format string) bool {
	return slices.ContainsFunc(f.names(), func(name string) bool { return beginsWith(format, name) })
}

// Overlaps reports whether a Dataset.Format may be of both formats.
func (f *Format) Overlaps(other *Format) bool {
	return slices.ContainsFunc(f.names(), func(a string) bool {
		return slices.ContainsFunc(other.names(), func(b string) bool {
			a, b := strings.ToLower(a), strings.ToLower(b)
			return beginsWith(a, b) || beginsWith(b, a)
		})
	})
}

func (f *Format) names() []string { return append([]string{f.Name}, f.Aliases...) }

// beginsWith reports whether the first words of a text are those of a name.
func beginsWith(text, name string) bool {
	rest, found := strings.CutPrefix(text, name)
	return found && (rest == "" || rest[0] == ' ')
}
