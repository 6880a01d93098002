package ingest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/table"
	"varve/manifest/scan"
	"varve/readers/source"
)

// Slice is a run of consecutive sources that become one scan part.
type Slice struct {
	Names []string
	Part  string // the base name of the part
}

// Cut divides names into slices of `files` sources. The name of a part follows from its sources and from how, the options
// of its scan. So a slice that is scanned twice writes the same file, and parts in the order of their names are in the
// order of the sources. A name with a line break is an error, because lists of sources have one name a line. So is a name
// with a password, or with parameters that are not stored (see plan.Options.KeepQuery), because the lists stay if a worker or
// driver is killed.
func Cut(names []string, files int, how string, keepQuery ...string) ([]Slice, error) {
	digits := max(len(fmt.Sprint((len(names)-1)/files)), 5)
	var out []Slice
	for some := range slices.Chunk(names, files) {
		sum := sha256.New()
		fmt.Fprint(sum, how)
		for _, name := range some {
			if strings.ContainsAny(name, "\n\r") {
				return nil, fmt.Errorf("%q: the list for workers has one name per line, so a name cannot contain a line break; rename the file: %w", name, errors.ErrUnsupported)
			}
			if shown := source.Stored(name, keepQuery); source.IsURL(name) && !source.IsObject(name) && shown != name {
				return nil, fmt.Errorf("%s: the URL has a password, or parameters that may be secrets, which slices do not keep: use an access file (docs/reference/sources.md)", shown)
			}
			fmt.Fprintln(sum, name)
		}
		out = append(out, Slice{some, fmt.Sprintf("part-%0*d-%x.parquet", digits, len(out), sum.Sum(nil)[:8])})
	}
	return out, nil
}

// CheckPart returns an error unless a part holds the named sources, in this order, and was scanned by this generation of
// varve. Sources that its scan left out count as held.
func CheckPart(ctx context.Context, part string, names []string, opts *Options) (err error) {
	if opts, err = opts.checked(); err != nil {
		return err
	}
	j := newJob(nil, opts)
	err = j.withPart(ctx, part, func(p *table.Part, files []*manifest.File) error {
		if p.Generation != manifest.Generation {
			return fmt.Errorf("another version of varve scanned it (generation %d, and this is %d)", p.Generation, manifest.Generation)
		}
		left, err := p.Skipped(ctx)
		if err != nil {
			return err
		}
		files = slices.DeleteFunc(slices.Clone(files), func(f *manifest.File) bool { return f.Hidden })
		for _, name := range names {
			url := scan.URLOf(name, opts.Plan.KeepQuery...)
			switch {
			case len(files) > 0 && files[0].URL == url:
				files = files[1:]
			case len(left) > 0 && left[0].URL == url:
				left = left[1:]
			default:
				return fmt.Errorf("it does not hold %s", url)
			}
		}
		if len(files) > 0 {
			return fmt.Errorf("it holds another source, %s", files[0].URL)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = fs.ErrNotExist // without the name, which the error has already
	}
	if err != nil {
		return fmt.Errorf("%s: %w", source.Shown(part), err)
	}
	return nil
}
