package dmrpp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"varve/readers"
	"varve/readers/source"
)

// Format is the readers.Reader of DMR++ sidecars.
type Format struct{}

const maxHead = 64 << 10 // bytes in which the first tag must be

// Info describes the format.
func Info() readers.Format {
	return readers.Format{
		Name: "DMR++", Suffixes: []string{".dmrpp"}, Detect: Format{}.Detect,
		New: func(*readers.Config) readers.Reader { return Format{} },
	}
}

// Detect reports whether a source is a DMR++ document.
func (Format) Detect(ctx context.Context, src *source.Source) (bool, error) {
	head, err := src.View(ctx, 0, int(min(src.Size(), 64)))
	if err != nil || !bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(head, []byte(bom)), space), []byte("<")) {
		return false, errors.Join(err, ctx.Err())
	}
	_, _, err = begin(newScanner(ctx, src, 0, min(src.Size(), maxHead)))
	// Damage in the first tag means another kind of XML; errors of the storage must not.
	if isDamage(err) || errors.Is(err, io.EOF) {
		return false, nil
	}
	return err == nil, err
}

const bom = "\xef\xbb\xbf"

// isDamage reports whether an error is about the bytes of a source. Other errors are about reading
// them.
func isDamage(err error) bool {
	return errors.Is(err, readers.ErrCorrupt) || errors.Is(err, errors.ErrUnsupported)
}

// dataset is the content of the first tag.
type dataset struct {
	href      string
	name      string
	isOrdered bool // the order of filters has a meaning
}

// begin reads up to the first tag, which must be the Dataset tag of a DMR++ document.
func begin(s *scanner) (*token, dataset, error) {
	for {
		tok, err := s.next()
		if err != nil {
			return nil, dataset{}, err
		}
		if tok.kind == characters && len(bytes.Trim(tok.text, space+bom)) == 0 {
			continue
		}
		if tok.kind != startTag || string(tok.name) != "Dataset" || !hasNamespace(tok) {
			return nil, dataset{}, s.corrupt("not a DMR++ document: it does not start with a Dataset tag of the namespace dmrpp")
		}
		d := dataset{href: string(tok.attr("href")), name: string(tok.attr("name")), isOrdered: tok.attr("version") != nil}
		if d.href == "" {
			d.href = string(tok.attr("base"))
		}
		return tok, d, nil
	}
}

// hasNamespace reports whether a tag declares the namespace of DMR++, or of its predecessor, HDF4
// maps.
func hasNamespace(tok *token) bool {
	for _, a := range tok.attrs {
		isNamespace := bytes.HasPrefix(a.name, []byte("xmlns:"))
		if isNamespace && (bytes.Contains(a.value, []byte("dmrpp")) || bytes.Contains(a.value, []byte("HDF4map"))) {
			return true
		}
	}
	return false
}

// Open reads a document. For a truncated or damaged document it returns the variables before the
// damage, and a problem.
func (f Format) Open(ctx context.Context, src *source.Source) (*readers.Dataset, error) {
	s := newScanner(ctx, src, 0, src.Size())
	_, d, err := begin(s)
	if errors.Is(err, io.EOF) {
		err = s.corrupt("not a DMR++ document: it is empty")
	}
	if err != nil {
		return nil, err
	}
	p := newParser(s, d)
	if err := p.group(p.root, nil); err != nil {
		if !isDamage(err) || ctx.Err() != nil {
			return nil, errors.Join(err, ctx.Err())
		}
		p.addProblem("/", err)
	}
	return p.out, ctx.Err()
}

// resolve returns the path or URL of a reference in the document.
func (d *dataset) resolve(href, sidecar string) string {
	if strings.Contains(href, "://") {
		return href
	}
	if beside, ok := strings.CutSuffix(sidecar, ".dmrpp"); ok {
		return beside
	}
	// A path without a file name does not name the data file; the dataset's name does.
	if href == "" || !strings.Contains(path.Base(href), ".") {
		href = d.name
	}
	return source.Beside(sidecar, path.Base(href))
}

func (p *parser) addProblem(at string, err error) {
	var located *readers.Error
	if !errors.As(err, &located) {
		err = &readers.Error{Source: p.s.src.Name(), Path: at, Offset: -1, Err: err}
	}
	p.out.Problems = append(p.out.Problems, readers.Problem{Path: at, Err: err})
}

// errElsewhere returns the error of reading values through a sidecar.
func errElsewhere(data string) error {
	return fmt.Errorf("the values are in %s; open that file instead of the sidecar: %w", data, errors.ErrUnsupported)
}
