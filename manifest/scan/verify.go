package scan

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"varve/manifest"
	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
)

// Verify reads the metadata of an open source again, its indexes, and all bytes for which its format has checksums. It returns the
// first damage in what the manifest has of the source: header and groups. A variable that the source lacks is damage; variables and
// attributes that are unreadable in the manifest do not count. settings are those of the scan, since names depend on them.
func Verify(ctx context.Context, src *source.Source, header *manifest.Header, groups *manifest.GroupAttributes, opener *source.Opener, settings readers.Settings) error {
	o, err := reload(ctx, src, opener, settings)
	if err != nil {
		return err
	}
	v := verification{opened: o, used: map[string]bool{}}
	for _, variable := range header.Variables {
		if variable.Unreadable == "" {
			v.used[variable.Path] = true
		}
	}
	for _, g := range groups.Groups {
		v.used[g.Path] = true
		if !slices.ContainsFunc(g.Attributes, func(a manifest.Attribute) bool { return a.Unreadable != "" }) {
			v.attributes = append(v.attributes, g.Path)
		}
	}
	if err := cmp.Or(v.all(), v.missing(header)); err != nil {
		return err
	}
	if o.data.Verify != nil {
		return o.data.Verify(ctx)
	}
	return ctx.Err()
}

// VerifyNamed reads the metadata and indexes of a file again that other sources name, if they have checksums. The manifest does not
// have the paths of its variables, so it returns any damage. format is that of the scan; it is empty if the scan did not need it.
func VerifyNamed(ctx context.Context, src *source.Source, format string, opener *source.Opener, settings readers.Settings) error {
	if src.IsFolder() {
		return nil
	}
	is, err := hasSums(ctx, src)
	if scanned := formats.Named(format); err == nil && !is && scanned.MetadataSums {
		err = readers.Corruptf("its signature is not that of an %s file", scanned.Name)
	}
	if !is || err != nil {
		return err
	}
	o, err := reload(ctx, src, opener, settings)
	if err != nil {
		return err
	}
	v := verification{opened: o, used: map[string]bool{"/": true}}
	for _, p := range o.data.Problems {
		v.used[p.Path] = true
	}
	o.data.Root.Walk(func(g *readers.Group) bool {
		v.attributes = append(v.attributes, g.Path) // a link may lead to the group
		for _, variable := range g.Variables {
			v.used[variable.Path] = true
		}
		return true
	})
	return v.all()
}

// reload reads the metadata of an open source again, from the source itself.
func reload(ctx context.Context, src *source.Source, opener *source.Opener, settings readers.Settings) (*opened, error) {
	how := (&Options{Opener: opener, Readers: formats.New(&readers.Config{Opener: opener, NoSidecars: true, Settings: settings})}).withDefaults()
	o := &opened{scanner: &scanner{Options: how}, ctx: ctx, src: src}
	return o, o.load()
}

// hasSums reports whether a source is of a format whose metadata has checksums.
func hasSums(ctx context.Context, src *source.Source) (bool, error) {
	for _, f := range formats.All() {
		if !f.MetadataSums {
			continue
		}
		if is, err := f.Detects(ctx, src); is || err != nil {
			return is, err
		}
	}
	return false, nil
}

// verification is a source that Verify reads again.
type verification struct {
	*opened
	used       map[string]bool // groups and readable variables of the manifest, by path
	attributes []string        // paths of the groups whose attributes are compared
}

// all returns the first damage of used variables and groups.
func (v *verification) all() error { return cmp.Or(v.problems(), v.variables(), v.ctx.Err()) }

// missing returns an error for the first variable of the header that the source lacks.
func (v *verification) missing(header *manifest.Header) error {
	has := map[string]bool{}
	v.data.Root.Walk(func(g *readers.Group) bool {
		for _, variable := range g.Variables {
			has[variable.Path] = true
		}
		return true
	})
	isLinked := func(path string) bool { // to another file, which has the variable
		return slices.ContainsFunc(v.data.Links, func(l readers.Link) bool { return path == l.Path || strings.HasPrefix(path, l.Path+"/") })
	}
	for _, variable := range header.Variables {
		if variable.Unreadable == "" && !has[variable.Path] && !isLinked(variable.Path) {
			return &readers.Error{Source: v.src.Name(), Path: variable.Path, Offset: -1,
				Err: readers.Corruptf("the source lacks the variable, which the manifest has: it is damaged, or another version of varve scanned it; build the manifest again")}
		}
	}
	return nil
}

// problems returns the first problem that affects a variable of the manifest.
func (v *verification) problems() error {
	for _, p := range v.data.Problems {
		below := strings.TrimSuffix(p.Path, "/") + "/"
		isUsed := v.used[p.Path]
		for path := range v.used {
			isUsed = isUsed || strings.HasPrefix(path, below)
		}
		if isUsed && !isReason(p.Err) {
			return p.Err
		}
	}
	return nil
}

// variables reads the attributes and the indexes of the variables of the manifest.
func (v *verification) variables() (failed error) {
	v.data.Root.Walk(func(g *readers.Group) bool {
		for _, variable := range g.Variables {
			if v.used[variable.Path] && failed == nil {
				failed = v.variable(variable)
			}
		}
		if failed == nil && slices.Contains(v.attributes, g.Path) {
			failed = firstDamage(g.Attributes)
		}
		return failed == nil
	})
	return failed
}

func firstDamage(list []readers.Attribute) error {
	for _, a := range list {
		if a.Err != nil && !isReason(a.Err) {
			return a.Err
		}
	}
	return nil
}

func (v *verification) variable(variable *readers.Variable) error {
	if err := firstDamage(variable.Attributes); err != nil {
		return err
	}
	for _, err := range variable.Storage.Refs(v.ctx) {
		if err != nil && !isReason(err) {
			return err
		}
	}
	return nil
}
