package tiff

import (
	"context"
	"encoding/xml"
	"math"
	"strconv"
	"strings"

	"varve/readers"
)

// stackAxes returns the axes that pages are along: those that OME or ImageJ name, or one of pages.
func (m *image) stackAxes(ctx context.Context, pages int) ([]axis, error) {
	text, _, err := m.text(ctx, imageDescription)
	if err != nil && !isDamage(err) {
		return nil, err
	}
	axes := imageJAxes(text)
	if strings.Contains(text, "<OME") {
		axes = omeAxes(text)
	}
	n := 1
	for _, a := range axes {
		n *= a.length
	}
	if len(axes) == 0 || n != pages {
		return []axis{{pageAxis, pages}}, nil
	}
	return axes, nil
}

// imageJNumbers returns the integers of a description of ImageJ, such as images, or none for other texts.
func imageJNumbers(text string) map[string]int {
	if !strings.HasPrefix(text, "ImageJ=") {
		return nil
	}
	numbers := map[string]int{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if n, err := strconv.Atoi(value); err == nil && n > 1 && n <= math.MaxInt32 {
			numbers[name] = n
		}
	}
	return numbers
}

// imageJAxes returns the axes of a stack of ImageJ: frames, slices and channels, the last one varying fastest.
func imageJAxes(text string) (axes []axis) {
	lengths := imageJNumbers(text)
	for _, a := range []struct{ key, name string }{{"frames", "time"}, {"slices", "z"}, {"channels", "channel"}} {
		if n := lengths[a.key]; n > 1 && n <= maxDirectories {
			axes = append(axes, axis{a.name, n})
		}
	}
	return axes
}

// hiddenPlanes returns the pages of a file of ImageJ that has one directory for all planes: they follow the first one without gaps. ImageJ
// writes files of more than 4 GB so. Other pages are returned as they are.
func (b *builder) hiddenPlanes(ctx context.Context, pages []*page) ([]*page, error) {
	if len(pages) != 1 {
		return pages, nil
	}
	first := pages[0]
	text, _, err := first.text(ctx, imageDescription)
	if err != nil && !isDamage(err) {
		return nil, err
	}
	n := imageJNumbers(text)["images"]
	if n < 2 {
		return pages, nil
	}
	size, end := first.storage.Bytes, uint64(b.src.Size())
	isRaw := first.storage.Layout == readers.Contiguous && first.reopen == nil
	switch {
	case !isRaw:
		err = unsupported("ImageJ describes %d planes, but the only one with a directory is compressed or in several strips, so the others cannot be found; save the file again, with a directory for each plane", n)
	case n > maxDirectories:
		err = unsupported("ImageJ describes %d planes, more than the limit of %d", n, maxDirectories)
	case (end-uint64(first.storage.Offset))/size < uint64(n):
		err = readers.Corruptf("ImageJ describes %d planes of %d bytes, which the file of %d bytes does not have; fetch it again", n, size, end)
	}
	if err != nil {
		b.addProblem("/", b.locate("/", err))
		return pages, nil
	}
	for i := 1; i < n; i++ {
		next := *first
		next.storage.Offset += int64(i) * int64(size)
		next.stored.Offset = next.storage.Offset
		pages = append(pages, &next)
	}
	return pages, nil
}

// omeAxes returns the axes of the first image of an OME document, if its pages are in the order that it says.
func omeAxes(text string) (axes []axis) {
	var doc struct {
		Images []struct {
			Pixels struct {
				Order   string `xml:"DimensionOrder,attr"`
				Z       int    `xml:"SizeZ,attr"`
				C       int    `xml:"SizeC,attr"`
				T       int    `xml:"SizeT,attr"`
				Channel []struct {
					Samples int `xml:"SamplesPerPixel,attr"`
				} `xml:"Channel"`
				Data []struct {
					IFD int `xml:"IFD,attr"`
					Z   int `xml:"FirstZ,attr"`
					C   int `xml:"FirstC,attr"`
					T   int `xml:"FirstT,attr"`
				} `xml:"TiffData"`
			}
		} `xml:"Image"`
	}
	if xml.Unmarshal([]byte(text), &doc) != nil || len(doc.Images) != 1 || len(doc.Images[0].Pixels.Order) != 5 {
		return nil
	}
	p := doc.Images[0].Pixels
	if len(p.Channel) > 0 && p.Channel[0].Samples > 1 {
		p.C /= p.Channel[0].Samples // samples of a pixel are in one page
	}
	lengths := map[byte]int{'Z': p.Z, 'C': p.C, 'T': p.T}
	for _, n := range lengths {
		if n < 1 || n > maxDirectories {
			return nil
		}
	}
	for _, d := range p.Data {
		at, stride := 0, 1
		for _, c := range []byte(p.Order[2:]) {
			at += stride * map[byte]int{'Z': d.Z, 'C': d.C, 'T': d.T}[c]
			stride *= lengths[c]
		}
		if at != d.IFD {
			return nil
		}
	}
	names := map[byte]string{'Z': "z", 'C': "channel", 'T': "time"}
	for i := 4; i >= 2; i-- {
		if n := lengths[p.Order[i]]; n > 1 {
			axes = append(axes, axis{names[p.Order[i]], n})
		}
	}
	return axes
}
