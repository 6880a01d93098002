package tiff

import (
	"context"
	"fmt"
	"slices"

	"varve/readers"
	"varve/readers/source"
)

// The bits of NewSubfileType.
const (
	reducedBit = 1
	maskBit    = 4
)

// page is an image with what belongs to it.
type page struct {
	*image
	typ       *readers.Type
	storage   readers.Storage
	stored    readers.Storage // with the axes in the order of the file
	axes      []int           // for each axis the one of the file, if the order differs
	lengths   []uint64        // of a single band: the axes
	names     []string
	meaning   meaning
	overviews []*page
	mask      *page
	reopen    func(context.Context) (*source.Source, error) // the file with the chunks, if it is not the source
}

// add adds the images of directories. It returns only errors of reading.
func (b *builder) add(ctx context.Context, list []*directory) error {
	pages, err := b.pages(ctx, list)
	if err != nil {
		return err
	}
	if err := b.addExternal(ctx, pages); err != nil {
		return err
	}
	if pages, err = b.hiddenPlanes(ctx, pages); err != nil {
		return err
	}
	stacks := stack(pages)
	for i, s := range stacks {
		group := b.out.Root
		if len(stacks) > 1 {
			group = b.group(b.out.Root, fmt.Sprint("image_", i))
		}
		if err := b.addStack(ctx, group, s, nil); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) group(parent *readers.Group, name string) *readers.Group {
	g := &readers.Group{Name: name, Path: join(parent.Path, name)}
	parent.Groups = append(parent.Groups, g)
	return g
}

// pages returns the images of a chain of directories. Overviews and masks belong to the image before them, sub-IFDs to
// their parent.
func (b *builder) pages(ctx context.Context, list []*directory) (pages []*page, err error) {
	for _, d := range list {
		p, err := b.page(ctx, d)
		if err != nil {
			return nil, err
		}
		if p == nil {
			continue
		}
		var last *page
		if len(pages) > 0 {
			last = pages[len(pages)-1]
		}
		if last == nil || !last.take(p) {
			pages = append(pages, p)
		}
		for _, sub := range d.subs {
			s, err := b.page(ctx, sub)
			if err != nil {
				return nil, err
			}
			if s != nil && !p.take(s) {
				p.overviews = append(p.overviews, s)
			}
		}
	}
	return pages, nil
}

// take adds an overview or a mask to its image, and returns false for other images.
func (p *page) take(x *page) bool {
	switch {
	case x.kind&maskBit != 0:
		for _, q := range append([]*page{p}, p.overviews...) {
			if q.width == x.width && q.height == x.height && q.mask == nil {
				q.mask = x
				return true
			}
		}
	case x.kind&reducedBit != 0:
		p.overviews = append(p.overviews, x)
		return true
	}
	return false
}

// page decodes the tags of a directory. It returns nil for one that is damaged, which it reports.
func (b *builder) page(ctx context.Context, d *directory) (*page, error) {
	m, err := d.image(ctx)
	p := &page{image: m}
	if err == nil {
		p.typ, err = m.element()
	}
	if err == nil {
		v := &readers.Variable{Type: p.typ}
		if err = m.setStorage(ctx, v); err != nil && !isCorrupt(err) && isDamage(err) {
			v.Storage = readers.Storage{Undecodable: err}
			err = nil
		}
		p.storage = v.Storage
	}
	if err == nil {
		p.stored = p.storage
		err = p.moveBands(b.bands)
	}
	if err == nil {
		p.meaning, err = m.meaning(ctx)
		return p, b.report(ctx, "/"+d.path, err)
	}
	if ctx.Err() != nil || !isDamage(err) {
		return nil, err
	}
	b.addProblem("/"+d.path, b.locate("/"+d.path, err))
	return nil, nil
}

// stack groups pages that differ in nothing but their pixels. Pages without equals are alone.
func stack(pages []*page) (stacks [][]*page) {
	for _, p := range pages {
		i := slices.IndexFunc(stacks, func(s []*page) bool { return s[0].isLike(p) })
		if i < 0 {
			stacks = append(stacks, []*page{p})
		} else {
			stacks[i] = append(stacks[i], p)
		}
	}
	return stacks
}

// isLike reports whether two images have the same shape, type, tiles and codecs.
func (p *page) isLike(o *page) bool {
	a, _ := p.shape()
	b, _ := o.shape()
	if !slices.Equal(a, b) || p.separate != o.separate || p.typ.String() != o.typ.String() || p.rows != o.rows || p.columns != o.columns || p.tiled != o.tiled {
		return false
	}
	if (p.storage.Undecodable == nil) != (o.storage.Undecodable == nil) || p.storage.Layout != o.storage.Layout || len(p.overviews) != len(o.overviews) || (p.mask == nil) != (o.mask == nil) {
		return false
	}
	if p.meaning.String() != o.meaning.String() {
		return false
	}
	if fmt.Sprint(p.storage.Pipeline) != fmt.Sprint(o.storage.Pipeline) {
		return false
	}
	for i := range p.overviews {
		if !p.overviews[i].isLike(o.overviews[i]) {
			return false
		}
	}
	return true
}
