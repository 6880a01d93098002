package picture

import (
	"fmt"
	"html"
	"strings"

	"varve/manifest"
	"varve/manifest/report"
)

// Sizes in units of the SVG's viewBox.
const (
	width    = 900.0
	strip    = 64.0  // height of a picture along one axis
	row      = 30.0  // height of a row of a picture along two axes
	maxRows  = 320.0 // largest height of all rows together
	fileRow  = 10.0  // height of the brackets of files
	textRow  = 16.0  // height of the text below
	topSpace = 4.0
)

// Style is the CSS that pictures need on a page, for light and dark mode.
const Style = `.mosaic{width:100%;height:auto;font:11px system-ui,sans-serif}
.mosaic .v{fill:#2f9e6e}.mosaic .p{fill:#7cb342}.mosaic .r{fill:#e8912d}.mosaic .m{fill:#9aa0a655}
.mosaic .e{stroke:#ffffff;stroke-width:.6}.mosaic .f{fill:none;stroke:#4a76c9;stroke-width:1}
.mosaic text{fill:currentColor}`

// SVG returns the picture as an SVG element.
func (pic *Picture) SVG() string {
	height := min(max(strip, row*float64(pic.Down.Len())), maxRows)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="mosaic" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">`,
		width, topSpace+height+fileRow+textRow, html.EscapeString(pic.label()))
	for y := range pic.Down.Len() {
		for x := range pic.Across.Len() {
			pic.cell(&b, x, y, height)
		}
	}
	for _, f := range pic.Files {
		pic.file(&b, f, height)
	}
	fmt.Fprintf(&b, `<text x="0" y="%.1f">%s: %s in %s</text>`, topSpace+height+fileRow+textRow-4, html.EscapeString(pic.Across.Name),
		report.Thousands(pic.Across.Extent), plural(pic.Across.Chunks, "chunk"))
	if pic.Down.Name != "" {
		fmt.Fprintf(&b, `<text x="%.0f" y="%.1f" text-anchor="end">down, %s: %s in %s</text>`, width, topSpace+height+fileRow+textRow-4,
			html.EscapeString(pic.Down.Name), report.Thousands(pic.Down.Extent), plural(pic.Down.Chunks, "chunk"))
	}
	b.WriteString(`</svg>`)
	return b.String()
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return report.Thousands(n) + " " + noun + "s"
}

// label returns the text that describes the picture to screen readers.
func (pic *Picture) label() string {
	var c manifest.Counts
	for _, cell := range pic.Cells {
		c.Verbatim, c.Prefix = c.Verbatim+cell.Verbatim, c.Prefix+cell.Prefix
		c.Reencoded, c.Missing = c.Reencoded+cell.Reencoded, c.Missing+cell.Missing
	}
	return fmt.Sprintf("%d chunks verbatim, %d prefix, %d re-encoded, %d missing", c.Verbatim, c.Prefix, c.Reencoded, c.Missing)
}

// leastOdd is the least height of a part of re-encoded chunks, so that one among thousands is visible.
const leastOdd = 4.0

// cell draws one bin as a stack of rectangles, one for each kind of its chunks. Heights are proportional
// to the numbers of chunks.
func (pic *Picture) cell(b *strings.Builder, x, y int, height float64) {
	left, right := pic.Across.at(x, width), pic.Across.at(x+1, width)
	top, bottom := topSpace+pic.Down.at(y, height), topSpace+pic.Down.at(y+1, height)
	cell := y*pic.Across.Len() + x
	c := pic.Cells[cell]
	total := float64(c.Verbatim + c.Prefix + c.Reencoded + c.Missing)
	if total == 0 {
		return
	}
	all, odd := bottom-top, 0.0
	if c.Reencoded > 0 {
		odd = min(max(float64(c.Reencoded)/total*all, leastOdd), all)
	}
	isLinked := pic.Links != nil && pic.Links[cell] != ""
	if isLinked {
		fmt.Fprintf(b, `<a href="%s">`, html.EscapeString(pic.Links[cell]))
	}
	for _, part := range []struct {
		n     int64
		class string
	}{{c.Verbatim, "v"}, {c.Prefix, "p"}, {c.Reencoded, "r"}, {c.Missing, "m"}} {
		if part.n == 0 {
			continue
		}
		// From the bottom up, so that verbatim chunks are always at the bottom.
		size := odd
		if part.class != "r" {
			size = float64(part.n) / (total - float64(c.Reencoded)) * (all - odd)
		}
		bottom -= size
		top, bottom := bottom, bottom+size
		fmt.Fprintf(b, `<rect class="%s%s" x="%.2f" y="%.2f" width="%.2f" height="%.2f"`, part.class, edge(right-left), left, top, right-left, bottom-top)
		b.WriteString(pic.endRect(cell))
	}
	if isLinked {
		b.WriteString("</a>")
	}
}

// endRect returns the end of a cell's element, with the cell's title if there is one.
func (pic *Picture) endRect(cell int) string {
	if pic.Titles == nil {
		return "/>"
	}
	return "><title>" + html.EscapeString(pic.Titles[cell]) + "</title></rect>"
}

// edge returns the CSS class of a border, for cells that are wide enough for one.
func edge(size float64) string {
	if size < 3 {
		return ""
	}
	return " e"
}

// at returns the start of a bin on a side of this length.
func (x Axis) at(bin int, length float64) float64 {
	if x.Extent == 0 {
		return 0
	}
	return float64(x.Bins[bin]) / float64(x.Extent) * length
}

// file draws a bracket below the cells or, if files are placed along two axes, a frame.
func (pic *Picture) file(b *strings.Builder, f File, height float64) {
	left, right := f.X*width+0.5, (f.X+f.Width)*width-0.5
	if pic.Down.Name != "" {
		fmt.Fprintf(b, `<rect class="f" x="%.2f" y="%.2f" width="%.2f" height="%.2f"/>`, left, topSpace+f.Y*height+0.5, max(right-left, 0.5), max(f.Height*height-1, 0.5))
		return
	}
	top := topSpace + height + 2
	fmt.Fprintf(b, `<path class="f" d="M%.2f %.1fv4H%.2fv-4"/>`, left, top, right)
}
