// Package formats has the formats of sources. It finds the format of a source by its content and opens it; names are ignored.
//
// builtIn lists the formats of varve, each a package that no other one knows. Register adds a format of another module.
package formats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"varve/readers"
	"varve/readers/internal/describe"
	"varve/readers/internal/dmrpp"
	"varve/readers/internal/fits"
	"varve/readers/internal/grib"
	"varve/readers/internal/hdf4"
	"varve/readers/internal/hdf5"
	"varve/readers/internal/icechunk"
	"varve/readers/internal/kerchunk"
	"varve/readers/internal/raw"
	"varve/readers/internal/tiff"
	"varve/readers/internal/zarr"
	"varve/readers/netcdf3"
	"varve/readers/source"
)

// builtIn are the formats of varve, in the order of detection.
var builtIn = []readers.Format{
	described(hdf5.Info(), describe.HDF5), described(netcdf3.Info(), describe.NetCDF3), hdf4.Info(), fits.Info(), tiff.Info(),
	described(grib.Info(), describe.GRIB), dmrpp.Info(), icechunk.Info(),
	kerchunk.Info(), // before Zarr, because its folders also have a .zmetadata
	zarr.Info(),
	raw.NumPy(), raw.ENVI(), raw.NIfTI(), raw.NRRD(), raw.MRC(), raw.MDS(),
	raw.Headerless(), // last, because it takes every file if its option is set
}

// described adds how the library of a format describes its files.
func described(f readers.Format, by func(context.Context, *source.Source, *readers.DescribeOptions, map[string]any) error) readers.Format {
	f.Describe = by
	return f
}

var known = struct {
	sync.RWMutex
	formats []readers.Format // never changed, but replaced
}{formats: builtIn}

// Register adds a format, for the whole process. Call it before a source is opened. Sources are tried after the formats of varve, so
// no format changes how files of others are read. Names of its options begin with its name in lower case and a dash.
func Register(f readers.Format) error {
	switch {
	case !isName(strings.ToLower(f.Name)):
		return fmt.Errorf("%q cannot be the name of a format: it must have letters and digits", f.Name)
	case f.New == nil || f.Detect == nil && len(f.Magic) == 0:
		return fmt.Errorf("the format %s needs New, and Magic or Detect", f.Name)
	}
	for _, m := range f.Magic {
		if m.At < 0 || m.Bytes == "" {
			return fmt.Errorf("the format %s has magic of %d bytes at offset %d", f.Name, len(m.Bytes), m.At)
		}
	}
	for _, alias := range f.Aliases {
		if alias == "" || strings.TrimSpace(alias) != alias {
			return fmt.Errorf("%q cannot be an alias of the format %s: it must not be empty, nor begin or end with a blank", alias, f.Name)
		}
	}
	if err := checkOptions(&f); err != nil {
		return err
	}
	known.Lock()
	defer known.Unlock()
	for i := range known.formats {
		if other := &known.formats[i]; other.Overlaps(&f) {
			return fmt.Errorf("the format %s cannot be told from %s, which is there already: their names or aliases begin with the same word", f.Name, other.Name)
		}
	}
	for _, o := range optionsOf(known.formats) {
		if slices.ContainsFunc(f.Options, func(x readers.Option) bool { return x.Name == o.Name }) {
			return fmt.Errorf("the option %s of the format %s is one of another format already", o.Name, f.Name)
		}
	}
	known.formats = append(slices.Clip(known.formats), f)
	return nil
}

// checkOptions returns an error for an option that a registered format cannot have.
func checkOptions(f *readers.Format) error {
	prefix := strings.ToLower(f.Name) + "-"
	for i, o := range f.Options {
		if name, found := strings.CutPrefix(o.Name, prefix); !found || !isName(strings.ReplaceAll(name, "-", "")) {
			return fmt.Errorf("the option %q of the format %s must be %sNAME, in lower-case letters and digits", o.Name, f.Name, prefix)
		}
		if slices.ContainsFunc(f.Options[:i], func(x readers.Option) bool { return x.Name == o.Name }) {
			return fmt.Errorf("the format %s has two options %s", f.Name, o.Name)
		}
		if o.Key != "" {
			return fmt.Errorf("the option %s has the key %q: only options of earlier versions of varve have keys", o.Name, o.Key)
		}
		if _, err := o.Value(readers.Settings{o.Name: o.DefaultValue()}); err != nil {
			return fmt.Errorf("the default of the option %s: %w", o.Name, err)
		}
	}
	return nil
}

func isName(word string) bool {
	return word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// All returns all formats, in the order of detection. They must not be changed.
func All() []readers.Format {
	known.RLock()
	defer known.RUnlock()
	return known.formats
}

// Options returns the options of all formats, each once.
func Options() []readers.Option { return optionsOf(All()) }

func optionsOf(all []readers.Format) (list []readers.Option) {
	for _, f := range all {
		for _, o := range f.Options {
			if !slices.ContainsFunc(list, func(other readers.Option) bool { return other.Name == o.Name }) {
				list = append(list, o)
			}
		}
	}
	return list
}

// Named returns the format of a Dataset.Format. It is empty if there is none.
func Named(format string) readers.Format {
	all := All()
	for i := range all {
		if all[i].Describes(format) {
			return all[i]
		}
	}
	return readers.Format{}
}

// SourcesOf returns the names that the source of a sidecar may have. It returns none for files that are no sidecars.
func SourcesOf(name string) (sources []string) {
	all := All()
	for i := range all {
		sources = append(sources, sourcesOf(&all[i], name)...)
	}
	return sources
}

func sourcesOf(f *readers.Format, name string) (sources []string) {
	if f.Sidecar == nil {
		return nil
	}
	for _, stem := range f.Sidecar(name) {
		sources = append(sources, stem)
		for _, suffix := range f.Suffixes {
			sources = append(sources, stem+suffix, stem+strings.ToUpper(suffix))
		}
	}
	return sources
}

// IsSidecar reports whether a file is a sidecar of one of the files that has knows. Names decide, but a local source with data in
// sidecars must also have the format, as far as it can be read.
func IsSidecar(ctx context.Context, name string, has func(name string) bool) bool {
	all := All()
	for i := range all {
		f := &all[i]
		if slices.ContainsFunc(sourcesOf(f, name), func(of string) bool { return has(of) && (!f.SidecarHasData || mayHave(ctx, f, of)) }) {
			return true
		}
	}
	return false
}

// mayHave reports whether a file has a format, or is not a local one that can be read.
func mayHave(ctx context.Context, f *readers.Format, name string) bool {
	local, err := source.LocalPath(name)
	if err != nil || source.HasPackedEnding(name) {
		return true
	}
	if info, err := os.Stat(local); err != nil || !info.Mode().IsRegular() { // opening a named pipe would block
		return true
	}
	src, err := source.Open(ctx, name)
	if err != nil {
		return true
	}
	defer src.Close()
	is, err := f.Detects(ctx, src)
	return is || err != nil
}

// IsOwnAttribute reports whether libraries of a format of varve write an attribute for their own use. Sources of all formats may have
// these attributes, since Zarr, kerchunk and DMR++ are made from HDF5. Readers.Open removes those of registered formats.
func IsOwnAttribute(name string) bool {
	return slices.ContainsFunc(builtIn, func(f readers.Format) bool { return slices.Contains(f.OwnAttributes, name) })
}

// Readers opens sources of all formats. Any number of goroutines may use it.
type Readers struct {
	list []Format
	err  error // a setting has no valid value
}

// Format is a format with a reader.
type Format struct {
	readers.Format
	readers.Reader
	isRegistered bool
}

// New returns readers of all formats. If a setting is invalid, the readers open no source: see CheckSettings.
func New(c *readers.Config) *Readers {
	if c == nil {
		c = &readers.Config{}
	}
	r := &Readers{}
	if errs := CheckSettings(c.Settings); len(errs) > 0 {
		r.err = errs[0]
		return r
	}
	for i, f := range All() {
		reader, err := f.Reader(c)
		r.err = errors.Join(r.err, err)
		r.list = append(r.list, Format{f, reader, i >= len(builtIn)})
	}
	return r
}

// SettingError is the error of a setting that no option allows.
type SettingError struct {
	Option string
	Value  any
	Says   string
}

// Error names the option.
func (e *SettingError) Error() string { return fmt.Sprintf("%s %v: %s", e.Option, e.Value, e.Says) }

// CheckSettings returns an error for each setting that no option allows, in the order of their names.
func CheckSettings(s readers.Settings) (errs []*SettingError) {
	options := Options()
	for _, name := range slices.Sorted(maps.Keys(s)) {
		says := "no format of this program has the option"
		if i := slices.IndexFunc(options, func(o readers.Option) bool { return o.Name == name }); i >= 0 {
			_, err := options[i].Value(s)
			if err == nil {
				continue
			}
			says = err.Error()
		}
		errs = append(errs, &SettingError{name, s[name], says})
	}
	return errs
}

// Places returns the folders and prefixes that settings name, to which sources may therefore refer: see readers.Option.Place.
func Places(s readers.Settings) (places []string) {
	options := Options()
	for i := range options {
		places = append(places, options[i].Places(s)...)
	}
	return places
}

// Detect returns the format of a source.
func (r *Readers) Detect(ctx context.Context, src *source.Source) (Format, error) {
	if r.err != nil {
		return Format{}, r.err
	}
	f, is, err := r.find(ctx, src)
	if err == nil && !is {
		err = &readers.Error{Source: src.Name(), Offset: -1, Err: describeUnknown(ctx, src)}
	}
	return f, err
}

func (r *Readers) find(ctx context.Context, src *source.Source) (Format, bool, error) {
	f, is, err := r.first(func(f *Format) (bool, error) { return f.Detects(ctx, src) })
	if !is && err == nil {
		f, is, err = r.search(ctx, src)
	}
	if !is && err == nil {
		f, is, err = r.first(func(f *Format) (bool, error) {
			finder, ok := f.Reader.(readers.Finder)
			if !ok {
				return false, nil
			}
			return finder.Finds(ctx, src)
		})
	}
	return f, is, err
}

// first returns the first format that a source has.
func (r *Readers) first(has func(*Format) (bool, error)) (Format, bool, error) {
	for i := range r.list {
		if is, err := has(&r.list[i]); is || err != nil {
			return r.list[i], is, err
		}
	}
	return Format{}, false, nil
}

// search looks for formats beyond the start of a file, unless the start is one of a format that varve does not read.
func (r *Readers) search(ctx context.Context, src *source.Source) (Format, bool, error) {
	if src.IsFolder() || src.Size() == 0 {
		return Format{}, false, nil
	}
	head, err := headOf(ctx, src)
	if err != nil || recognize(head) != nil {
		return Format{}, false, err
	}
	return r.first(func(f *Format) (bool, error) {
		if f.Search == nil {
			return false, nil
		}
		return f.Search(ctx, src)
	})
}

func headOf(ctx context.Context, src *source.Source) ([]byte, error) {
	return src.View(ctx, 0, int(min(src.Size(), headBytes)))
}

// Open reads the metadata of a source of any format.
func (r *Readers) Open(ctx context.Context, src *source.Source) (*readers.Dataset, error) {
	f, err := r.Detect(ctx, src)
	if err != nil {
		return nil, err
	}
	data, err := f.Open(ctx, src)
	if err == nil && f.isRegistered && len(f.OwnAttributes) > 0 {
		f.removeOwnAttributes(data)
	}
	return data, err
}

func (f *Format) removeOwnAttributes(data *readers.Dataset) {
	others := func(list []readers.Attribute) []readers.Attribute {
		return slices.DeleteFunc(slices.Clone(list), func(a readers.Attribute) bool { return slices.Contains(f.OwnAttributes, a.Name) })
	}
	data.Root.Walk(func(g *readers.Group) bool {
		g.Attributes = others(g.Attributes)
		for _, v := range g.Variables {
			v.Attributes = others(v.Attributes)
		}
		return true
	})
}

// Open reads the metadata of a source of any format. To open many sources, make readers with New.
func Open(ctx context.Context, src *source.Source, c *readers.Config) (*readers.Dataset, error) {
	return New(c).Open(ctx, src)
}

// Describe adds what "varve inspect --json" prints of a source to a document. After a *readers.PartialError the document has all but
// the damaged parts.
func Describe(ctx context.Context, src *source.Source, o *readers.DescribeOptions, doc map[string]any) error {
	f, err := New(&readers.Config{Allow: o.Allow}).Detect(ctx, src)
	if err != nil {
		return err
	}
	doc["kind"] = strings.ToLower(f.Name)
	if f.Describe != nil {
		return f.Describe(ctx, src, o, doc)
	}
	data, err := f.Open(ctx, src)
	if err != nil {
		return err
	}
	return describe.Dataset(ctx, o, data, doc)
}

// IsStore reports whether a folder is a single source, so that its files are not sources: a store
// of a known format, or of one that varve does not read.
func IsStore(ctx context.Context, folder *source.Source) bool {
	_, is, err := New(nil).find(ctx, folder)
	return is && err == nil || recognizeFolder(ctx, folder) != nil // a registered format may fail to read a folder
}

// describeUnknown returns the error for a source of no known format. It names the format and a remedy if
// the first bytes show it.
func describeUnknown(ctx context.Context, src *source.Source) error {
	if src.IsFolder() {
		if err := recognizeFolder(ctx, src); err != nil {
			return unknownError(err.Error())
		}
		return fmt.Errorf("the folder is not a store of a format that varve reads (%s); name the files in it", names())
	}
	if src.Size() == 0 {
		return readers.Corruptf("the file is empty; fetch it again")
	}
	head, err := headOf(ctx, src)
	if err != nil {
		return err
	}
	// A known format gets a remedy; for others the first bytes must do.
	if err := recognize(head); err != nil {
		return unknownError(err.Error())
	}
	if looksLikeHTML(head) {
		return readers.Corruptf("the file is a page of HTML or XML: an error message of a server, or its list of a folder; name the files themselves")
	}
	if slices.Contains(zarrDocuments, path.Base(filepath.ToSlash(src.Name()))) {
		return unknownError("it is a metadata document of a Zarr store; name the folder that contains it (on an HTTP server this does not work, because folders cannot be listed)")
	}
	if header := besideOf(src.Name()); header != "" {
		return unknownError(fmt.Sprintf("the file may have the data of %s: name that file instead", header))
	}
	return unknownError(fmt.Sprintf("it starts with %q", head[:min(len(head), 8)]))
}

// besideOf returns the name of a local file that is read with the file of a name, or "".
func besideOf(name string) string {
	for _, of := range SourcesOf(name) {
		if path, err := source.LocalPath(of); err == nil && of != name {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				return of
			}
		}
	}
	return ""
}

// zarrDocuments lists the metadata documents of a Zarr store.
var zarrDocuments = []string{"zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata"}

// unknownError is the error of a source of no known format; its text describes the source.
type unknownError string

func (u unknownError) Error() string {
	return fmt.Sprintf("not a format that varve reads (%s): %s", names(), string(u))
}

// Unwrap returns ErrUnsupported: the source is not damaged.
func (u unknownError) Unwrap() error { return errors.ErrUnsupported }

func names() string {
	var list []string
	for _, f := range All() {
		list = append(list, f.Name)
	}
	return strings.Join(list, ", ")
}

// trimStart returns text without blanks and a byte order mark before its first tag.
func trimStart(head []byte) []byte { return bytes.TrimLeft(head, " \t\r\n\xef\xbb\xbf") }

func looksLikeXML(head []byte) bool { return bytes.HasPrefix(trimStart(head), []byte("<")) }

func looksLikeHTML(head []byte) bool {
	head = trimStart(head)
	for _, start := range []string{"<!DOCTYPE", "<!doctype", "<html", "<HTML", "<?xml"} {
		if bytes.HasPrefix(head, []byte(start)) {
			return true
		}
	}
	return false
}
