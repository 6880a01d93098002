package fits

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"varve/codec"
	"varve/readers"
	"varve/readers/internal/naming"
	"varve/readers/source"
)

// Format is the readers.Reader of FITS files.
type Format struct{}

// Info describes the format.
func Info() readers.Format {
	return readers.Format{
		Name: "FITS", Suffixes: []string{".fits", ".fit", ".fts", ".fz"}, Detect: Format{}.Detect,
		New: func(*readers.Config) readers.Reader { return Format{} },
	}
}

// Detect reports whether a source starts with SIMPLE = T.
func (Format) Detect(ctx context.Context, src *source.Source) (bool, error) {
	if src.Size() < cardSize {
		return false, ctx.Err()
	}
	head, err := src.View(ctx, 0, cardSize)
	if err != nil || !bytes.HasPrefix(head, []byte("SIMPLE  = ")) {
		return false, err
	}
	c := parseCard(head)
	return c.kind == logical && c.truth, nil
}

// Open reads the headers of a source.
func (f Format) Open(ctx context.Context, src *source.Source) (*readers.Dataset, error) {
	is, err := f.Detect(ctx, src)
	if err != nil {
		return nil, err
	}
	if !is {
		return nil, &readers.Error{Source: src.Name(), Offset: 0, Err: readers.Corruptf("not a FITS file: it does not start with SIMPLE = T")}
	}
	b := &builder{
		src:   src,
		names: naming.New(),
		out:   &readers.Dataset{Source: src, Format: "FITS", HoldsChunks: true, Root: &readers.Group{Path: "/"}},
	}
	b.out.Verify = b.verify
	return b.out, b.scan(&scanner{ctx: ctx, src: src, cards: maxCards})
}

// builder builds a readers.Dataset from a file.
type builder struct {
	src   *source.Source
	names naming.Names
	out   *readers.Dataset
	sums  []sums
}

// scan reads the HDUs. Damage ends the scan, because the position of the next HDU is unknown then;
// earlier HDUs are kept.
func (b *builder) scan(s *scanner) error {
	at := int64(0)
	for n := 0; b.hasMore(s, at, n); n++ {
		next, err := b.readUnit(s, at, n)
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		if err != nil {
			err = &readers.Error{Source: b.src.Name(), Path: "/", Offset: at, Err: err}
			// Without the first HDU there is nothing to show, and errors of reading are not damage.
			if n == 0 || !isDamage(err) {
				return err
			}
			b.addProblem("/", err)
			return nil
		}
		at = next
	}
	// Every HDU ends at a block, so a partial block means that bytes are missing.
	if rest := b.src.Size() % blockSize; rest != 0 && len(b.out.Problems) == 0 {
		b.addProblem("/", b.locate(readers.Corruptf("file is truncated: it ends %d bytes into a block of %d; fetch it again", rest, blockSize)))
	}
	return s.ctx.Err()
}

// hasMore reports whether another HDU starts at an offset. Zeros and blanks there are padding.
func (b *builder) hasMore(s *scanner, at int64, n int) bool {
	if at >= b.src.Size() {
		return false
	}
	// Less than a block at the end cannot be a header.
	if n == 0 || b.src.Size()-at < blockSize {
		return n == 0
	}
	if n > maxHDUs {
		b.addProblem("/", b.locate(unsupported("more than %d HDUs", maxHDUs)))
		return false
	}
	head, err := b.src.View(s.ctx, at, cardSize)
	return err != nil || strings.Trim(string(head), "\x00 ") != ""
}

// readUnit reads one HDU and returns the offset of the next one.
func (b *builder) readUnit(s *scanner, at int64, n int) (int64, error) {
	h, err := s.header(at)
	if err != nil {
		return 0, err
	}
	if n > 0 && (len(h.cards) == 0 || h.cards[0].keyword != "XTENSION") {
		return 0, readers.Corruptf("a header should start here with XTENSION")
	}
	u, err := newHDU(h, n)
	if err != nil {
		return 0, err
	}
	if n == 0 {
		b.out.Root.Attributes = u.attributes()
	}
	if err := b.add(s.ctx, u); err != nil {
		return 0, err
	}
	b.addSums(u)
	left := uint64(b.src.Size() - h.end)
	if u.size > left {
		return b.src.Size(), nil // an error of the unit's variables reports this
	}
	return h.end + int64(min(u.paddedSize, left)), nil
}

// add adds the objects of an HDU. It returns only errors of reading.
func (b *builder) add(ctx context.Context, u *hdu) error {
	usual := fmt.Sprint("HDU", u.number)
	if u.number == 0 {
		usual = "PRIMARY"
	}
	if u.kind == image && len(u.axes) == 0 {
		if u.number > 0 {
			b.addEmpty(u, b.names.Take(u.string("EXTNAME"), usual))
		}
		return nil
	}
	if u.kind == compressedImage {
		return b.addTiles(ctx, u, usual)
	}
	name := b.names.Take(u.string("EXTNAME"), usual)
	switch u.kind {
	case image:
		b.addImage(u, name)
	case binaryTable, asciiTable:
		b.addTable(u, name)
	default:
		b.addProblem("/"+name, b.locate(u.reason))
	}
	return nil
}

// addEmpty adds an extension that has keywords but no data.
func (b *builder) addEmpty(u *hdu, name string) {
	b.out.Root.Groups = append(b.out.Root.Groups, &readers.Group{Name: name, Path: "/" + name, Attributes: u.attributes()})
}

func (b *builder) addProblem(path string, err error) {
	b.out.Problems = append(b.out.Problems, readers.Problem{Path: path, Err: err})
}

func (b *builder) locate(err error) error {
	return &readers.Error{Source: b.src.Name(), Offset: -1, Err: err}
}

// checkSize reports a problem if the file ends before the data of an HDU.
func (b *builder) checkSize(u *hdu, path string) {
	if end := uint64(u.end) + u.size; end > uint64(b.src.Size()) {
		b.addProblem(path, b.locate(readers.Corruptf("file is truncated: the data end at offset %d, but the file at %d; fetch it again", end, b.src.Size())))
	}
}

func (b *builder) addImage(u *hdu, name string) {
	v := b.image(u, name, u.bitpix, u.axes)
	v.Storage = plainStorage(v.Type)
	v.Storage.Layout, v.Storage.Offset, v.Storage.Bytes = readers.Contiguous, u.end, product(u.axes)*uint64(v.Type.Size)
	b.setReader(v, 1)
	b.checkSize(u, v.Path)
}

// image adds the variable of an image, without its storage.
func (b *builder) image(u *hdu, name string, bitpix int, axes []uint64) *readers.Variable {
	v := &readers.Variable{
		Name: name, Path: "/" + name,
		Shape:      reversed(axes),
		Type:       bitpixTypes[bitpix],
		Attributes: u.attributes(),
	}
	v.MaxShape = v.Shape
	for i := len(axes); i > 0; i-- {
		dim := anonymous("/", fmt.Sprintf("%s_NAXIS%d", name, i), axes[i-1])
		v.Dims = append(v.Dims, dim)
		b.out.Root.Dimensions = append(b.out.Root.Dimensions, dim)
	}
	cards := scaling{u.lookup("BSCALE"), u.lookup("BZERO"), u.lookup("BLANK"), u.lookup("BUNIT")}
	// Compressed integers may store their BLANK under another keyword.
	if cards.blank == nil && u.kind == compressedImage {
		cards.blank = u.lookup("ZBLANK")
	}
	v.Attributes = addAttributes(v.Attributes, cards.attributes(v.Type))
	b.out.Root.Variables = append(b.out.Root.Variables, v)
	return v
}

// addAttributes appends the attributes whose names are not taken.
func addAttributes(list, more []readers.Attribute) []readers.Attribute {
	for _, a := range more {
		if readers.Lookup(list, a.Name) == nil {
			list = append(list, a)
		}
	}
	return list
}

func anonymous(group, name string, length uint64) *readers.Dimension {
	return &readers.Dimension{Name: name, Path: strings.TrimSuffix(group, "/") + "/" + name, Length: length, Anonymous: true}
}

func plainStorage(t *readers.Type) readers.Storage {
	_, order, plain := t.Plain()
	return readers.Storage{Plain: plain, Pipeline: readers.Pipeline{Bytes: codec.InOrder(order)}}
}
