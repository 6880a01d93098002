package planner

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// The files testdata/*.plan hold cases: files and options, and the plan or the refusal that they give.
//
//	== the lengths of months are chunk lengths
//	option coords first
//	file jan.nc
//	  time(time*=31) int32 = 0..30
//	    @units "days since 1990-01-01"
//	  t(time*=31 lat=3) float32 chunks 31x3
//	file feb.nc …
//	--
//	array t(time=59 lat=3) float32 chunks [31 28] [3] of jan.nc@0+31 feb.nc@31+28
//	noted lengths-differ dim=time files=jan.nc,feb.nc/2 max=31 min=28
//
// A star marks an unlimited dimension. A variable without " = " has values that the scan did not keep. If the
// plan requests them, the result has a line with "reads", and the test provides values that differ between files.
// The lines after "--" are the expected result. `go test -record-plans` writes them again: compare them with the
// result of another program, or with the contents of the files, before you commit them.

var recordPlans = flag.Bool("record-plans", false, "write the expected plans into testdata/*.plan")

// planCase is one case of a file of cases.
type planCase struct {
	name  string
	input []string // lines
	want  string
	opts  plan.Options
	m     *maker
}

// TestCases: the files and options of each case give the expected plan or refusal.
func TestCases(t *testing.T) {
	names, err := filepath.Glob("testdata/*.plan")
	if err != nil || len(names) == 0 {
		t.Fatal("no cases", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		head, cases, err := parseCases(string(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out := head
		for _, c := range cases {
			var got string
			t.Run(strings.TrimSuffix(filepath.Base(name), ".plan")+"/"+c.name, func(t *testing.T) {
				if got = c.result(t); got != c.want && !*recordPlans {
					t.Errorf("got\n%s\nwant\n%s", got, c.want)
				}
			})
			out += "== " + c.name + "\n" + strings.Join(c.input, "\n") + "\n--\n" + got + "\n"
		}
		if *recordPlans {
			if err := os.WriteFile(name, []byte(strings.TrimRight(out, "\n")+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// parseCases returns the lines before the first case, and the cases.
func parseCases(text string) (head string, cases []*planCase, err error) {
	var c *planCase
	isWanted := false
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		name, isCase := strings.CutPrefix(line, "== ")
		switch {
		case isCase:
			c, isWanted = &planCase{name: name, m: newMaker()}, false
			cases = append(cases, c)
		case c == nil:
			head += line + "\n"
		case line == "--":
			isWanted = true
		case isWanted:
			c.want += line + "\n"
		default:
			c.input = append(c.input, line)
		}
	}
	for _, c := range cases {
		c.want = strings.TrimRight(c.want, "\n") + "\n"
		if err := c.parse(); err != nil {
			return "", nil, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return head, cases, lines.Err()
}

// parse makes the options and files from the input.
func (c *planCase) parse() error {
	var name string
	var vars []wanted
	var root []manifest.Attribute
	unlimited := map[string]bool{}
	finish := func() {
		if name != "" {
			f := c.m.file(name, vars...)
			if len(root) > 0 {
				f.Groups = &manifest.GroupAttributes{Groups: []manifest.Group{{Path: "/", Attributes: root}}}
			}
		}
		vars, root = nil, nil
	}
	for _, line := range c.input {
		text := strings.TrimSpace(line)
		word, rest, _ := strings.Cut(text, " ")
		var err error
		switch {
		case text == "" || strings.HasPrefix(text, "#"):
		case word == "option":
			err = c.option(rest)
		case word == "file":
			finish()
			name = rest
		case strings.HasPrefix(text, "@"):
			var a manifest.Attribute
			if a, err = parseAttribute(text[1:]); len(vars) == 0 {
				root = append(root, a)
			} else {
				v := &vars[len(vars)-1].v
				v.Attributes = append(v.Attributes, a)
			}
		default:
			var w wanted
			w, err = parseVariable(text, unlimited)
			vars = append(vars, w)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
	}
	finish()
	return nil
}

// option sets one option: its name and its value.
func (c *planCase) option(text string) (err error) {
	name, value, _ := strings.Cut(text, " ")
	switch name {
	case "rectilinear":
		c.opts.Rectilinear = true
	case "strict":
		c.opts.Strict = true
	case "group":
		c.opts.Group = value
	case "codec-from":
		c.opts.CodecFrom = value
	case "vars":
		c.opts.Vars = append(c.opts.Vars, value)
	case "apart":
		c.opts.Apart = append(c.opts.Apart, value)
	case "inline":
		var n int64
		n, err = strconv.ParseInt(value, 10, 64)
		c.opts.Inline = &n
	case "chunk-edges": // ARRAY:DIM=N,N
		array, rest, _ := strings.Cut(value, ":")
		dim, list, _ := strings.Cut(rest, "=")
		var lengths []int64
		for _, word := range strings.Split(list, ",") {
			n, wrong := strconv.ParseInt(word, 10, 64)
			lengths, err = append(lengths, n), errors.Join(err, wrong)
		}
		c.opts.Schemas = append(c.opts.Schemas, plan.Override{Array: array, Chunks: map[string][]int64{dim: lengths}})
	default:
		err = apply(report.Setting{Option: report.Option(name), Value: value}, &c.opts)
	}
	return err
}

var caseTypes = func() map[string]codec.Type {
	types := map[string]codec.Type{}
	for _, t := range []codec.Type{float32s, float64s, int16s, int32s, int64s, stringsT, {Kind: codec.Int, Size: 1}, {Kind: codec.Uint, Size: 1},
		{Kind: codec.Uint, Size: 2}, {Kind: codec.Uint, Size: 4}, {Kind: codec.Uint, Size: 8}, {Kind: codec.FixedBytes, Size: 1}, {Kind: codec.FixedBytes, Size: 4}} {
		types[t.String()] = t
	}
	return types
}()

// parseVariable parses a line such as "t(time*=31 lat=3) float32 chunks 31x3 = 1 2 3".
func parseVariable(line string, unlimited map[string]bool) (w wanted, err error) {
	line, values, hasValues := strings.Cut(line, " = ")
	name, rest, ok := strings.Cut(line, "(")
	dims, rest, ok2 := strings.Cut(rest, ")")
	words := strings.Fields(rest)
	if !ok || !ok2 || len(words) == 0 {
		return w, errors.New("want NAME(DIM=LENGTH …) TYPE …")
	}
	w.v.Path = "/" + name
	for _, d := range strings.Fields(dims) {
		at, length, _ := strings.Cut(d, "=")
		n, wrong := strconv.ParseInt(length, 10, 64)
		err = errors.Join(err, wrong)
		w.v.Dims, w.v.Shape = append(w.v.Dims, "/"+strings.TrimSuffix(at, "*")), append(w.v.Shape, n)
	}
	if w.v.Type, ok = caseTypes[words[0]]; !ok {
		return w, fmt.Errorf("the type %s is not known", words[0])
	}
	zlib := []codec.Spec{little(), {Name: "numcodecs.zlib", Config: json.RawMessage(`{"level":4}`)}}
	w.v.Storage = manifest.Storage{Layout: manifest.Chunked, Filters: 1, Codecs: zlib}
	if w.v.Storage.Chunks = slices.Clone(w.v.Shape); len(w.v.Shape) == 1 {
		w.v.Storage.Chunks[0] = max(w.v.Shape[0], 1)
	}
	for i := 1; i < len(words); i++ {
		next := func() string { i++; return words[min(i, len(words)-1)] }
		switch words[i] {
		case "chunks":
			w.v.Storage.Chunks, err = parseShape(next())
		case "edges":
			w.v.Storage.Chunks = nil
			for range w.v.Shape {
				var axis [][2]int64
				for _, run := range strings.Split(next(), ",") {
					length, count, _ := strings.Cut(run, "x")
					n, wrong := strconv.ParseInt(length, 10, 64)
					k, _ := strconv.ParseInt(count, 10, 64)
					axis, err = append(axis, [2]int64{n, max(k, 1)}), errors.Join(err, wrong)
				}
				w.v.Storage.Edges = append(w.v.Storage.Edges, axis)
			}
		case "strided":
			w.v.Storage = manifest.Storage{Layout: manifest.Strided, Chunks: w.v.Shape, Codecs: zlib[:1]}
			w.v.Storage.Stride, err = strconv.ParseInt(next(), 10, 64)
		case "valued":
			w.v.Storage = manifest.Storage{Layout: manifest.Valued}
		case "nothing":
			w.v.Storage = manifest.Storage{Layout: manifest.Nothing}
		case "raw":
			w.v.Storage.Codecs = zlib[:1]
		case "lzf":
			w.v.Storage.Codecs = []codec.Spec{little(), {Name: "hdf5.lzf"}}
		default:
			err = fmt.Errorf("%s is not known", words[i])
		}
		if err != nil {
			return w, err
		}
	}
	if hasValues {
		w.values, err = parseValues(values, w.v.Type)
	}
	return w, err
}

func parseShape(text string) (shape []int64, err error) {
	for _, word := range strings.Split(text, "x") {
		n, wrong := strconv.ParseInt(word, 10, 64)
		shape, err = append(shape, n), errors.Join(err, wrong)
	}
	return shape, err
}

// parseValues parses numbers, ranges of whole numbers such as 0..30, or quoted texts; "none" has no element.
func parseValues(text string, t codec.Type) (*manifest.Values, error) {
	var numbers []float64
	var list []string
	for text = strings.TrimSpace(text); text != "" && text != "none"; text = strings.TrimSpace(text) {
		if text[0] == '"' {
			quoted, err := strconv.QuotedPrefix(text)
			if err != nil {
				return nil, err
			}
			word, _ := strconv.Unquote(quoted)
			list, text = append(list, word), text[len(quoted):]
			continue
		}
		word, rest, _ := strings.Cut(text, " ")
		text = rest
		from, to, isRange := strings.Cut(word, "..")
		x, err := strconv.ParseFloat(from, 64)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, x)
		if isRange {
			last, err := strconv.ParseFloat(to, 64)
			if err != nil {
				return nil, err
			}
			numbers = append(numbers, lines(x+1, last-x, 1)...)
		}
	}
	if t.Kind == codec.String {
		return words("x", "x", list...).values, nil
	}
	return coords("x", "x", t, numbers...).values, nil
}

// parseAttribute parses a line such as `units "m"` or `scale_factor float32 0.01`.
func parseAttribute(line string) (manifest.Attribute, error) {
	name, rest, _ := strings.Cut(line, " ")
	if strings.HasPrefix(rest, `"`) {
		text, err := strconv.Unquote(rest)
		return textAttribute(name, text), err
	}
	kind, values, _ := strings.Cut(rest, " ")
	t, ok := caseTypes[kind]
	if !ok {
		return manifest.Attribute{}, fmt.Errorf("the type %s is not known", kind)
	}
	x, err := parseValues(values, t)
	if err != nil {
		return manifest.Attribute{}, err
	}
	return manifest.Attribute{Name: name, Type: t, Data: x.Data}, nil
}

// result plans the case and describes the plan or the refusal.
func (c *planCase) result(t *testing.T) string {
	p, reads, err := planReading(c.m.files, &c.opts)
	var b strings.Builder
	for _, r := range reads {
		f := c.m.files[r.File]
		fmt.Fprintf(&b, "reads %s of %s%s\n", f.Header.Variable(r.Variable).Path[1:], report.Base(f.URL), map[Extent]string{Sum: ": its digest", Summarized: ": a summary"}[r.Extent])
	}
	var refused *plan.Error
	switch {
	case errors.As(err, &refused):
		for i := range refused.Findings {
			b.WriteString(findingText(&refused.Findings[i]))
			for url := range refused.Findings[i].Files.All() {
				if !strings.Contains(err.Error(), report.Base(url)) {
					t.Errorf("the error does not name %s: %q", url, err)
				}
			}
		}
	case err != nil:
		fmt.Fprintf(&b, "error %T\n", err)
	default:
		checkPlan(t, c.m.files, p)
		known := valuesByID(p.Values)
		for i := range p.Arrays {
			a := &p.Arrays[i]
			var dims []string
			for k, d := range a.Dims {
				dims = append(dims, fmt.Sprintf("%s=%d", strings.TrimPrefix(d, "/"), a.Schema.Shape[k]))
			}
			fmt.Fprintf(&b, "array %s(%s) %s chunks %s", a.Path[1:], strings.Join(dims, " "), a.Schema.DataType.Type(), gridText(a))
			if a.Placement != "" {
				fmt.Fprintf(&b, " of %s\n", tilesOf(t, c.m, p, a.Path))
				continue
			}
			data, texts := elementsOfPieces(t, a, known)
			fmt.Fprintf(&b, " = %s\n", valuesText(a.Schema.DataType.Type(), &manifest.Values{Data: data, Texts: texts}))
		}
		for i := range p.Report.Findings {
			b.WriteString(findingText(&p.Report.Findings[i]))
		}
	}
	return b.String()
}

// findingText formats a finding in a line.
func findingText(f *report.Finding) string {
	words := []string{string(f.Effect), string(f.Code)}
	for _, a := range append(slices.Clone(f.Arrays), f.Array) {
		if a != "" {
			words = append(words, "array="+strings.TrimPrefix(a, "/"))
		}
	}
	if f.Dim != "" {
		words = append(words, "dim="+f.Dim)
	}
	if f.Count > 0 {
		words = append(words, fmt.Sprintf("files=%s/%d", strings.ReplaceAll(reporttest.Files(f), " ", ","), f.Of))
	}
	if facts := reporttest.Facts(f); facts != "" {
		words = append(words, facts)
	}
	line := strings.Join(words, " ") + "\n"
	if remedies := reporttest.Remedies(f); remedies != "" {
		line += "  remedies: " + remedies + "\n"
	}
	return line
}

// valuesText formats values as parseValues parses them.
func valuesText(t codec.Type, v *manifest.Values) string {
	var list []string
	if t.Varies() {
		for _, text := range v.Texts {
			list = append(list, strconv.Quote(string(text)))
		}
		return strings.Join(list, " ")
	}
	x, err := readNumbersOf(t, v.Data)
	if err != nil {
		return fmt.Sprintf("%x", v.Data)
	}
	for i := 0; i < len(x); i++ {
		k := i
		for k+1 < len(x) && x[k+1] == x[k]+1 && x[i] == float64(int64(x[i])) {
			k++
		}
		text := strconv.FormatFloat(x[i], 'g', -1, 64)
		if k > i+1 {
			text, i = text+".."+strconv.FormatFloat(x[k], 'g', -1, 64), k
		}
		list = append(list, text)
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, " ")
}
