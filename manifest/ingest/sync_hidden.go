package ingest

import (
	"context"
	"slices"
	"sort"

	"varve/manifest"
	"varve/readers/source"
)

// namers returns the rows of the sources that name each hidden source, by its row: through their Parts, or through refs. If
// neither names a hidden source, it was read for values that the manifest stores. Then the source before it named it.
func (o *oldFiles) namers(ctx context.Context) (map[int][]int, error) {
	if o.named != nil {
		return o.named, nil
	}
	by, isPart := map[int][]int{}, map[int]bool{}
	owner := make([]int, len(o.files)) // the source whose Parts name a hidden source, or the source itself
	var all []int
	for i, f := range o.files {
		owner[i] = i
		if !f.Hidden {
			all = append(all, i)
		}
	}
	for _, i := range all {
		for _, parts := range o.files[i].Parts {
			for _, p := range parts {
				if _, err := o.hidden(p.File); err != nil {
					return nil, err
				}
				if !isPart[p.File] {
					isPart[p.File], owner[p.File] = true, i
					by[p.File] = append(by[p.File], i)
				}
			}
		}
	}
	hasBytes := false
	for i, f := range o.files {
		hasBytes = hasBytes || f.Hidden && !isPart[i]
	}
	if hasBytes {
		if err := o.addRefNamers(ctx, owner, by); err != nil {
			return nil, err
		}
	}
	o.unused = map[int][]int{}
	before := -1
	for i, f := range o.files {
		switch {
		case !f.Hidden:
			before = i
		case by[i] == nil && before >= 0:
			by[i] = []int{before}
			o.unused[before] = append(o.unused[before], i)
		}
	}
	o.named = by
	return by, nil
}

// addRefNamers adds the sources whose refs, or those of their Parts, name hidden sources.
func (o *oldFiles) addRefNamers(ctx context.Context, owner []int, by map[int][]int) error {
	// Sources without refs are left out, so that each row is in one source.
	var withRefs []int
	for i, f := range o.files {
		if f.Header.Rows() > 0 {
			withRefs = append(withRefs, i)
		}
	}
	sort.SliceStable(withRefs, func(a, b int) bool { return o.files[withRefs[a]].Row < o.files[withRefs[b]].Row })
	at, end := -1, int64(0) // the current source in withRefs, and the end of its rows
	type naming struct{ by, hidden int }
	seen := map[naming]bool{}
	last := int32(0)
	for batch, err := range o.reader.ScanRefs(ctx, 0, o.reader.Rows(manifest.Refs)) {
		if err != nil {
			return err
		}
		for i, other := range batch.Others {
			if other == 0 {
				continue
			}
			row := batch.Row + int64(i)
			if row < end && other == last {
				continue
			}
			for row >= end && at+1 < len(withRefs) {
				at++
				f := o.files[withRefs[at]]
				end = f.Row + f.Header.Rows()
			}
			last = other
			n := naming{owner[withRefs[max(at, 0)]], int(other) - 1}
			if _, err := o.hidden(n.hidden); err != nil {
				return err
			}
			if !seen[n] {
				seen[n] = true
				by[n.hidden] = append(by[n.hidden], n.by)
			}
		}
	}
	return nil
}

// findChangedHidden adds the sources of a list to the changed ones that name a file which has changed. It looks at each file
// once, and at none of sources that are known to have changed.
func (r *revision) findChangedHidden(ctx context.Context, list []*manifest.File) error {
	asked := make(map[*manifest.File]bool, len(list))
	for _, f := range list {
		asked[f] = !r.changed[f.URL]
	}
	namers, err := r.old.namers(ctx)
	if err != nil {
		return err
	}
	var files []manifest.Source
	by := map[manifest.Source][]int{}
	for row, f := range r.old.files {
		for _, n := range namers[row] {
			if !f.Hidden || !asked[r.old.files[n]] {
				continue
			}
			if by[f.Source] == nil {
				files = append(files, f.Source)
			}
			by[f.Source] = append(by[f.Source], n)
		}
	}
	changed := make([]bool, len(files))
	err = r.lookUp(ctx, len(files), func(within context.Context, k *keeping, i int) error {
		k, err := r.mayRead(k, files[i].URL)
		if err != nil && slices.ContainsFunc(by[files[i]], func(n int) bool { return !r.named[r.old.files[n].URL] }) {
			return err
		}
		// If the user named all sources that name this file, they are scanned again, which opens only what they may name.
		changed[i] = err != nil || !k.isUnchanged(within, files[i])
		return within.Err()
	})
	if err != nil {
		return err
	}
	for i, s := range files {
		if changed[i] {
			for _, n := range by[s] {
				r.changed[r.old.files[n].URL] = true
			}
		}
	}
	return nil
}

// sourcesOf returns the sources that a file is, or is a part of, or that name the file.
func (o *oldFiles) sourcesOf(ctx context.Context, name string) (urls []string, err error) {
	if s := o.sourceOf(name); s != "" {
		urls = append(urls, s)
	}
	if o.hiddenAt == nil {
		o.hiddenAt = map[string][]int{}
		for row, f := range o.files {
			if f.Hidden {
				outer := source.Outer(f.URL)
				o.hiddenAt[outer] = append(o.hiddenAt[outer], row)
			}
		}
	}
	rows := o.hiddenAt[name]
	if len(rows) == 0 {
		return urls, nil
	}
	namers, err := o.namers(ctx)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		for _, n := range namers[row] {
			urls = append(urls, o.files[n].URL)
		}
	}
	return urls, nil
}
