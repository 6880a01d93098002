package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"varve/manifest/report"
	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
)

// inspectText prints one file as ncdump -h would, and how each variable is stored.
func inspectText(ctx context.Context, opts inspectOptions, name string, out io.Writer) error {
	src, done, err := openSource(ctx, opts, name)
	if err != nil {
		return err
	}
	p := &textPrinter{ctx: ctx, out: out}
	dataset, err := formats.Open(ctx, src, &readers.Config{Allow: opts.allow})
	if err == nil {
		p.dataset(name, dataset)
		err = errors.Join(p.err, p.damage.first)
	}
	return errors.Join(err, done())
}

// textPrinter writes indented lines and keeps the first error.
type textPrinter struct {
	ctx   context.Context
	out   io.Writer
	depth int
	err   error

	damage
}

func (p *textPrinter) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.out, strings.Repeat("  ", p.depth)+format+"\n", args...)
	}
}

func (p *textPrinter) dataset(name string, d *readers.Dataset) {
	p.line("%s: %s, %s {", printable(source.Shown(name)), d.Format, byteSize(uint64(d.Source.Size())))
	p.group(d.Root)
	p.line("}")
	for _, problem := range d.Problems {
		p.note(problem.Err)
		p.line("// cannot be read: %s: %s", printable(problem.Path), printable(problem.Err.Error()))
	}
}

func (p *textPrinter) group(g *readers.Group) {
	p.section("dimensions", len(g.Dimensions), func() {
		for _, d := range g.Dimensions {
			p.dimension(d)
		}
	})
	p.section("variables", len(g.Variables), func() {
		for _, v := range g.Variables {
			p.variable(v)
		}
	})
	p.section("attributes", len(g.Attributes), func() {
		for i := range g.Attributes {
			p.attribute("", &g.Attributes[i])
		}
	})
	for _, child := range g.Groups {
		p.line("group: %s {", printable(child.Name))
		p.depth++
		p.group(child)
		p.depth--
		p.line("}")
	}
}

func (p *textPrinter) section(title string, n int, print func()) {
	if n == 0 {
		return
	}
	p.line("%s:", title)
	p.depth++
	print()
	p.depth--
}

func (p *textPrinter) dimension(d *readers.Dimension) {
	remark := ""
	if d.Anonymous {
		remark = " // without a name in the file"
	}
	if d.Unlimited {
		p.line("%s = UNLIMITED ; // %d currently%s", printable(d.Name), d.Length, strings.Replace(remark, " //", ",", 1))
		return
	}
	p.line("%s = %d ;%s", printable(d.Name), d.Length, remark)
}

func (p *textPrinter) variable(v *readers.Variable) {
	dims := make([]string, len(v.Dims))
	for i, d := range v.Dims {
		dims[i] = printable(d.Name)
		if i < len(v.Shape) && d.Length != v.Shape[i] {
			dims[i] += fmt.Sprintf("[%d]", v.Shape[i])
		}
	}
	of := ""
	if len(dims) > 0 {
		of = "(" + strings.Join(dims, ", ") + ")"
	}
	p.line("%s %s%s ;", typeName(v.Type), printable(v.Name), of)
	p.depth++
	for i := range v.Attributes {
		p.attribute(v.Name, &v.Attributes[i])
	}
	lines, err := storageLines(p.ctx, v)
	p.note(err)
	for _, s := range lines {
		p.line("// %s", printable(s))
	}
	p.depth--
}

func (p *textPrinter) attribute(owner string, a *readers.Attribute) {
	if a.Err != nil {
		p.note(a.Err)
		p.line("%s:%s ; // cannot be read: %s", printable(owner), printable(a.Name), printable(a.Err.Error()))
		return
	}
	p.line("%s:%s = %s ;", printable(owner), printable(a.Name), valueText(&a.Value))
}

// typeName names a type as CDL does, where it can.
func typeName(t *readers.Type) string {
	if t.Class == readers.VarLen && t.IsText {
		if t.IsPath() {
			return "reference"
		}
		return "string"
	}
	if t.Class == readers.String && t.Size == 1 {
		return "char"
	}
	names := map[string]string{
		"|i1": "byte", "i2": "short", "i4": "int", "i8": "int64",
		"|u1": "ubyte", "u2": "ushort", "u4": "uint", "u8": "uint64", "f4": "float", "f8": "double",
	}
	text := t.String()
	for _, key := range []string{text, strings.TrimLeft(text, "<>")} {
		if name, ok := names[key]; ok {
			return name
		}
	}
	return printable(text)
}

// byteSize writes a number of bytes for people.
func byteSize(n uint64) string { return report.Size(int64(min(n, math.MaxInt64))) }
