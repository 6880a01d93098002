package text

import (
	"html/template"
	"io"
	"sync"

	"varve/manifest/report"
)

// Page is a report in the form of one HTML file, which loads no other files.
type Page struct {
	Title    string
	Summary  string
	Findings []report.Finding
	Arrays   []PageArray
	Style    template.CSS // the style that pictures need
}

// PageArray is one array of a page.
type PageArray struct {
	Path, Shape, Type string
	Chunks, Codecs    string
	Served            string
	Picture           template.HTML // SVG; empty for an array that is stored in the manifest
}

// Page writes a page. The printer formats the options.
func (p *Printer) Page(w io.Writer, page *Page) error {
	doc := struct {
		*Page
		Rows []row
	}{Page: page}
	for _, f := range fewUnreadable(page.Findings) {
		r := row{Effect: string(f.Effect), Code: string(f.Code), Sentence: p.Sentence(&f), Files: Files(f.Files), Cost: p.Cost(&f)}
		for i := range f.Remedies {
			r.Remedies = append(r.Remedies, p.remedyOf(&f, &f.Remedies[i]))
		}
		doc.Rows = append(doc.Rows, r)
	}
	return pageTemplate().Execute(w, doc)
}

// row is a finding as text.
type row struct {
	Effect, Code, Sentence, Files, Cost string
	Remedies                            []string
}

// pageTemplate is parsed when the first page is written, because most commands write no page.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.Title}}</title><style>
:root{color-scheme:light dark;--line:#8884;--soft:#8881}
body{font:15px/1.45 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid var(--line)}
code{font:13px ui-monospace,monospace}section{border:1px solid var(--line);border-radius:6px;padding:.4rem 1rem 1rem;margin:1rem 0}
dl{display:grid;grid-template-columns:6rem 1fr;gap:.1rem .6rem;margin:.4rem 0}dt{opacity:.7}dd{margin:0}
.refused{color:#d23f31;font-weight:600}.re-encoded{color:#c2700f}.files{opacity:.75;font-size:13px}
.key i{display:inline-block;width:.8em;height:.8em;margin:0 .3em 0 1em;vertical-align:-.05em}
{{.Style}}
</style></head><body>
<h1>{{.Title}}</h1><p>{{.Summary}}</p>
<h2>Where files disagree</h2>
{{if .Rows}}<table><tr><th>effect<th>finding<th>code{{range .Rows}}
<tr><td class="{{.Effect}}">{{.Effect}}<td>{{.Sentence}}
{{with .Files}}<div class="files">{{.}}</div>{{end}}{{with .Cost}}<div class="files">{{.}}</div>{{end}}{{range .Remedies}}<div class="files">fix: <code>{{.}}</code></div>{{end}}<td><code>{{.Code}}</code>{{end}}
</table>{{else}}<p>Nowhere.</p>{{end}}
{{if .Arrays}}<h2>Arrays</h2>
<p class="key">Chunks:<i style="background:#2f9e6e"></i>verbatim<i style="background:#7cb342"></i>prefix<i style="background:#e8912d"></i>re-encoded<i style="background:#9aa0a6"></i>missing<i style="background:none;border:1px solid #4a76c9"></i>file</p>
{{range .Arrays}}<section><h3><code>{{.Path}}</code></h3><dl><dt>shape<dd>{{.Shape}}<dt>type<dd>{{.Type}}<dt>chunks<dd>{{.Chunks}}<dt>codecs<dd>{{.Codecs}}<dt>served<dd>{{.Served}}</dl>
{{.Picture}}</section>
{{end}}{{end}}</body></html>
`))
})
