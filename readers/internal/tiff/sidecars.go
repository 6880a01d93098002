package tiff

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"varve/readers"
	"varve/readers/internal/crs"
	"varve/readers/source"
)

// Sidecars are files beside an image x.tif that say more of it, or hold more pixels:
//
//	x.tif.aux.xml   what GDAL could not write into the image: transform, system, metadata. It counts more than the tags
//	x.tfw, x.tifw, x.wld   a transform, for an image without one
//	x.prj           a system, for an image without one
//	x.tif.ovr       overviews, for an image without any
//	x.tif.msk       a mask, for an image without one
//
// They belong to the first image of a file. As in GDAL, the tags of an image count more than those of a world file.

// sidecarsOption is the name of the option.
const sidecarsOption = "tiff-sidecars"

// The words of the option.
const (
	sidecarsAuto   = "auto"
	sidecarsIgnore = "ignore"
)

// maxSidecar is the size of a text file beside an image that is read.
const maxSidecar = 16 << 20

// imageOf returns the names of the images that a sidecar may belong to.
func imageOf(name string) []string {
	lower := strings.ToLower(name)
	for _, end := range []string{".aux.xml", ".msk.ovr", ".ovr", ".msk"} {
		if strings.HasSuffix(lower, end) {
			return []string{name[:len(name)-len(end)]}
		}
	}
	switch ending := path.Ext(lower); ending {
	case ".tfw", ".tifw", ".wld", ".prj":
		return []string{name[:len(name)-len(ending)]}
	}
	return nil
}

// extras is what the sidecars of an image say.
type extras struct {
	pam        pam
	transform  *[6]float64 // of .aux.xml
	system     *crs.System // of .aux.xml
	systemText string      // the system of .aux.xml as it is written there, if it is not one that package crs knows
	world      *[6]float64
	projection *crs.System // of .prj
}

// pam is the document of .aux.xml: GDAL's persistent auxiliary metadata.
type pam struct {
	System    string     `xml:"SRS"`
	Transform string     `xml:"GeoTransform"`
	Metadata  []pamItems `xml:"Metadata"`
	Bands     []pamBand  `xml:"PAMRasterBand"`
}

type pamItems struct {
	Domain string `xml:"domain,attr"`
	Items  []struct {
		Key  string `xml:"key,attr"`
		Text string `xml:",chardata"`
	} `xml:"MDI"`
	Warp *struct{} `xml:"GeodataXform"`
}

type pamBand struct {
	Band        int        `xml:"band,attr"`
	Description string     `xml:"Description"`
	Nodata      string     `xml:"NoDataValue"`
	Unit        string     `xml:"UnitType"`
	Offset      *float64   `xml:"Offset"`
	Scale       *float64   `xml:"Scale"`
	Metadata    []pamItems `xml:"Metadata"`
}

// items calls f with each entry of the default domain.
func items(list []pamItems, f func(name, text string)) {
	for _, m := range list {
		if m.Domain != "" {
			continue
		}
		for _, x := range m.Items {
			f(x.Key, x.Text)
		}
	}
}

// areaOrPoint returns the entry AREA_OR_POINT in lower case, or "".
func (p *pam) areaOrPoint() (value string) {
	items(p.Metadata, func(name, text string) {
		if lower := strings.ToLower(text); name == "AREA_OR_POINT" && (lower == "area" || lower == "point") {
			value = lower
		}
	})
	return value
}

// nodata returns the values without data that bands have, by the numbers of the bands.
func (p *pam) nodata() map[int]string {
	list := map[int]string{}
	for _, b := range p.Bands {
		if text := strings.TrimSpace(b.Nodata); text != "" {
			list[b.Band] = text
		}
	}
	return list
}

// merge adds what bands and the whole file have in the document to what the tags of the image say.
func (p *pam) merge(list []band, file map[string]string, samples int) []band {
	items(p.Metadata, func(name, text string) { file[name] = text })
	for _, b := range p.Bands {
		if b.Band < 1 || b.Band > samples {
			continue
		}
		for len(list) < b.Band {
			list = append(list, band{scale: 1, metadata: map[string]string{}})
		}
		to := &list[b.Band-1]
		if b.Description != "" {
			to.description = b.Description
		}
		if b.Unit != "" {
			to.unit = b.Unit
		}
		if b.Scale != nil {
			to.scale = *b.Scale
		}
		if b.Offset != nil {
			to.offset = *b.Offset
		}
		items(b.Metadata, func(name, text string) { to.metadata[name] = text })
	}
	return list
}

// beside opens a file beside the source that has another end of its name. It returns nil if there is none, and records the file
// as one that the dataset depends on.
func (b *builder) beside(ctx context.Context, name string) (*source.Source, error) {
	src, err := b.opener.OpenLocalBeside(ctx, b.src, name, b.allow...)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b.closers = append(b.closers, src)
	if src.IsFolder() {
		return nil, nil
	}
	id := src.Identity()
	b.out.Beside = append(b.out.Beside, &readers.Other{Source: src.Name(), ETag: id.ETag, Modified: id.Modified})
	return src, nil
}

// text returns the text of the first file that exists, or false if there is none.
func (b *builder) text(ctx context.Context, names ...string) (text, name string, ok bool, err error) {
	for _, name := range names {
		src, err := b.beside(ctx, name)
		if err != nil {
			return "", name, false, err
		}
		if src == nil {
			continue
		}
		if src.Size() > maxSidecar {
			return "", name, false, &readers.Error{Source: src.Name(), Offset: -1, Err: unsupported("%d bytes, more than the limit of %d for a file beside an image", src.Size(), maxSidecar)}
		}
		data, err := src.View(ctx, 0, int(src.Size()))
		if err != nil {
			return "", name, false, err
		}
		return string(data), src.Name(), true, nil
	}
	return "", "", false, nil
}

// readSidecars reads the files beside a local source. A file that cannot be read is an error: without it, the image may be at another
// place.
func (b *builder) readSidecars(ctx context.Context, list []*directory) error {
	if b.opener == nil || len(list) == 0 || list[0].path != "0" {
		return nil
	}
	if _, err := source.LocalPath(source.Outer(b.src.Name())); err != nil {
		return nil // each would cost a request
	}
	x := &extras{}
	list[0].extras = x
	base := fileName(b.src.Name())
	stem := strings.TrimSuffix(base, path.Ext(base))
	steps := []func() error{
		func() error {
			text, name, ok, err := b.text(ctx, base+".aux.xml")
			if ok {
				err = x.readPAM(text, name)
			}
			return err
		},
		func() error {
			text, name, ok, err := b.text(ctx, stem+".tfw", stem+".tifw", stem+".wld", stem+".TFW")
			if ok {
				err = x.readWorld(text, name)
			}
			return err
		},
		func() error {
			text, name, ok, err := b.text(ctx, stem+".prj")
			if ok {
				if x.projection, err = crs.ParseWKT1(text); err != nil {
					err = &readers.Error{Source: name, Offset: -1, Err: fmt.Errorf("%w: %w", err, errors.ErrUnsupported)}
				}
			}
			return err
		},
	}
	for _, step := range steps {
		if err := step(); err != nil {
			if ctx.Err() != nil || !isDamage(err) {
				return err
			}
			return &sidecarError{err}
		}
	}
	return nil
}

// sidecarError is the error of a file beside an image that cannot be used. The image can be read without it.
type sidecarError struct{ error }

// Unwrap returns the error.
func (e *sidecarError) Unwrap() error { return e.error }

// Remedy returns the option and its value with which the image can be read.
func (e *sidecarError) Remedy() (option, value string) { return sidecarsOption, sidecarsIgnore }

// fileName returns the last element of the name of a source.
func fileName(name string) string {
	base := path.Base(filepath.ToSlash(name))
	return base[strings.LastIndexAny(base, "|:")+1:]
}

// readPAM decodes .aux.xml.
func (x *extras) readPAM(text, name string) error {
	fail := func(err error) error { return &readers.Error{Source: name, Offset: -1, Err: err} }
	if err := xml.Unmarshal([]byte(text), &x.pam); err != nil {
		return fail(readers.Corruptf("it is not XML as GDAL writes it: %v", err))
	}
	if slices.ContainsFunc(x.pam.Metadata, func(m pamItems) bool { return m.Warp != nil }) {
		return fail(unsupported("a transform of ESRI (GeodataXform); the image has the one of its tags"))
	}
	if words := strings.Split(x.pam.Transform, ","); len(words) == 6 {
		t, ok := finite(words)
		if !ok {
			return fail(readers.Corruptf("GeoTransform %q", x.pam.Transform))
		}
		x.transform = &t
	}
	if text := strings.TrimSpace(x.pam.System); text != "" {
		system, err := crs.ParseWKT1(text)
		if err != nil {
			x.systemText = text
		}
		x.system = system
	}
	return nil
}

// readWorld decodes a world file: six numbers. The last two are the centre of the upper left pixel.
func (x *extras) readWorld(text, name string) error {
	words := strings.Fields(text)
	if len(words) < 6 {
		return &readers.Error{Source: name, Offset: -1, Err: readers.Corruptf("a world file has 6 numbers, not %d", len(words))}
	}
	n, ok := finite(words[:6])
	if !ok || n[0] == 0 && n[2] == 0 || n[3] == 0 && n[1] == 0 {
		return &readers.Error{Source: name, Offset: -1, Err: readers.Corruptf("%q are not the numbers of a world file", words[:6])}
	}
	x.world = &[6]float64{n[4] - float64(n[0]/2) - float64(n[2]/2), n[0], n[2], n[5] - float64(n[1]/2) - float64(n[3]/2), n[1], n[3]}
	return nil
}

// finite decodes 6 finite numbers. Programs of some countries write a comma for the point.
func finite(words []string) (list [6]float64, ok bool) {
	for i, w := range words {
		f, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(w), ",", "."), 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return list, false
		}
		list[i] = f
	}
	return list, true
}

// apply changes a place to what the sidecars say. The sizes are those of the image.
func (x *extras) apply(p *place) {
	if x == nil {
		return
	}
	switch {
	case x.transform != nil:
		p.setTransform(*x.transform)
	case p.transform == nil && x.world != nil:
		p.setTransform(*x.world)
	}
	if p.transform != nil {
		p.gcps = nil
	}
	switch isUnknown := p.system == nil || p.system.Kind == crs.Engineering; {
	case x.systemText != "":
		p.system, p.systemText = nil, x.systemText
	case x.system != nil:
		p.system = x.system
	case isUnknown && x.projection != nil:
		p.system = x.projection
	}
	if v := x.pam.areaOrPoint(); v != "" {
		p.areaOrPoint = v
	}
}

// addExternal adds the overviews and the mask of files beside the only image of a file, if it has none itself.
func (b *builder) addExternal(ctx context.Context, pages []*page) error {
	if len(pages) != 1 || pages[0].extras == nil {
		return nil
	}
	first, base := pages[0], fileName(b.src.Name())
	if len(first.overviews) == 0 {
		list, err := b.external(ctx, base+".ovr")
		if err != nil {
			return err
		}
		for _, p := range list {
			if p.kind&maskBit != 0 {
				continue // as of a mask in the image, which has its own overviews
			}
			first.overviews = append(first.overviews, p)
		}
	}
	if first.mask == nil {
		list, err := b.external(ctx, base+".msk")
		if err != nil {
			return err
		}
		for _, p := range list {
			if p.width == first.width && p.height == first.height {
				first.mask = p
				break
			}
		}
	}
	return nil
}

// external returns the images of a TIFF file beside the source. Their chunks are in that file.
func (b *builder) external(ctx context.Context, name string) (pages []*page, err error) {
	src, err := b.beside(ctx, name)
	if src == nil || err != nil {
		return nil, err
	}
	f, at, err := openFile(ctx, src)
	var list []*directory
	if err == nil {
		list, err = f.directories(ctx, at)
	}
	if err != nil {
		if ctx.Err() != nil || !isDamage(err) {
			return nil, err
		}
		return nil, &sidecarError{err}
	}
	for _, d := range list {
		p, err := b.page(ctx, d)
		if err != nil {
			return nil, err
		}
		if p != nil {
			b.moveTo(p, src)
			pages = append(pages, p)
		}
	}
	return pages, nil
}

// moveTo says that the chunks of an image are in another file. It is opened again when they are listed, because it is closed by then.
func (b *builder) moveTo(p *page, src *source.Source) {
	name, id, opener := src.Name(), src.Identity(), b.opener
	p.storage.Source = name
	b.out.HoldsChunks = false
	p.reopen = func(ctx context.Context) (*source.Source, error) { return opener.OpenVersion(ctx, name, id) }
	if p.storage.ReadIndex == nil {
		return
	}
	n, _ := p.chunks()
	p.storage.ReadIndex = func(ctx context.Context) iter.Seq2[*readers.Ref, error] {
		return func(yield func(*readers.Ref, error) bool) {
			again, err := p.reopen(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			defer again.Close()
			f, d, m := *p.file, *p.directory, *p.image
			f.src, d.file, m.directory = again, &f, &d
			m.refs(ctx, n, yield)
		}
	}
}
