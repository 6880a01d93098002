package grib_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"varve/codec"
	"varve/readers"
	"varve/readers/formats"
	"varve/readers/internal/grib"
	"varve/readers/readertest"
	"varve/readers/source"
	"varve/readers/source/sourcetest"
)

const indexSamples = "../../../fixtures/gribindex"

// indexesOf returns a reader of index files that opens files with the default options.
func indexesOf(use grib.IndexUse, templates ...string) *grib.IndexReader {
	return grib.NewIndexReader(grib.IndexOptions{Use: use, Templates: templates, Open: source.Open})
}

var masks = regexp.MustCompile(`mask [0-9a-f]+`)

// describe returns everything that a reader finds in a source, with values, except the checks of references.
func describe(t *testing.T, name string, indexes *grib.IndexReader) string {
	t.Helper()
	src, err := source.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	d := readertest.Describe(t.Context(), grib.Format{Indexes: indexes}, src)
	if d.Err != nil {
		t.Fatalf("%s: %v", name, d.Err)
	}
	return masks.ReplaceAllString(d.Text, "mask 0")
}

// derived counts the references of a source to messages that were not read.
func derived(t *testing.T, name string, indexes *grib.IndexReader) (n, all int) {
	t.Helper()
	src, err := source.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	data, err := (grib.Format{Indexes: indexes}).Open(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	data.Root.Walk(func(g *readers.Group) bool {
		for _, v := range g.Variables {
			if v.Storage.Index != "messages" {
				continue
			}
			for ref, err := range v.Storage.Refs(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if all++; ref.Mask != 0 {
					n++
				}
			}
		}
		return true
	})
	return n, all
}

// copyOf copies samples to a folder of the test, and returns it.
func copyOf(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		write(t, filepath.Join(dir, name), contentOf(t, name))
	}
	return dir
}

func contentOf(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(indexSamples, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

const gfs = "gfs.20240101.f006.grib2"

// TestIndexAsScan compares what an index file gives with a scan of all messages. derived is the number of messages that are not read.
func TestIndexAsScan(t *testing.T) {
	for _, c := range []struct {
		name         string
		derived, all int
	}{
		{gfs, 21, 36},
		{"gfs.20240101.f009.grib2", 21, 36},
		{"enfo.20240101.6h.grib2", 20, 24},
		{"winds.grib2", 0, 6},
	} {
		name := filepath.Join(indexSamples, c.name)
		if got, want := describe(t, name, indexesOf(grib.IndexRequire)), describe(t, name, nil); got != want {
			t.Errorf("%s: with its index file\n%s\nwithout\n%s", c.name, got, want)
		}
		if n, all := derived(t, name, indexesOf(grib.IndexAuto)); n != c.derived || all != c.all {
			t.Errorf("%s: %d of %d messages are not read, want %d of %d", c.name, n, all, c.derived, c.all)
		}
		if n, _ := derived(t, name, indexesOf(grib.IndexIgnore)); n != 0 {
			t.Errorf("%s: an index file that should be ignored locates %d messages", c.name, n)
		}
	}
}

// TestTemplate compares what index files and a template file give with a scan of all messages. No header is read.
func TestTemplate(t *testing.T) {
	at := func(name string) string { return filepath.Join(indexSamples, name) }
	for _, c := range []struct{ template, name string }{
		{gfs, "gfs.20240101.f009.grib2"}, {gfs, "gfs.20240102.f006.grib2"}, {"enfo.20240101.6h.grib2", "enfo.20240102.6h.grib2"},
	} {
		indexes := indexesOf(grib.IndexRequire, at(c.template))
		if got, want := describe(t, at(c.name), indexes), describe(t, at(c.name), nil); got != want {
			t.Errorf("%s of %s: with the template file\n%s\nwithout\n%s", c.name, c.template, got, want)
		}
		if n, all := derived(t, at(c.name), indexes); n != all || all == 0 {
			t.Errorf("%s of %s: %d of %d messages are not read", c.name, c.template, n, all)
		}
	}
}

// TestIndexNames checks that index files are found by all names that they can have.
func TestIndexNames(t *testing.T) {
	content := contentOf(t, gfs+".idx")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(content)
	z.Close()
	for _, c := range []struct {
		name    string
		content []byte
	}{
		{gfs + ".idx", content}, {gfs + ".index", content}, {"gfs.20240101.f006.idx", content}, {"gfs.20240101.f006.index", content},
		{gfs + ".idx", packed.Bytes()},
		{gfs + ".idx", bytes.ReplaceAll(content, []byte("\n"), []byte("\r\n"))},
	} {
		dir := copyOf(t, gfs)
		write(t, filepath.Join(dir, c.name), c.content)
		if n, _ := derived(t, filepath.Join(dir, gfs), indexesOf(grib.IndexRequire)); n != 21 {
			t.Errorf("%s: %d messages are not read", c.name, n)
		}
	}
}

// TestIndexOfOtherFile checks that index files that do not describe the data are refused.
func TestIndexOfOtherFile(t *testing.T) {
	whole := string(contentOf(t, gfs+".idx"))
	lines := strings.SplitAfter(whole, "\n")
	for _, c := range []struct {
		name, index string
		line        int
	}{
		{"another date", string(contentOf(t, "gfs.20240102.f006.grib2.idx")), 1},
		{"another step", strings.ReplaceAll(whole, ":6 hour fcst:", ":9 hour fcst:"), 1},
		{"another level", strings.Replace(whole, "TMP:2 m above", "TMP:3 m above", 1), 19},
		{"another surface", strings.ReplaceAll(whole, " m above ground", " m below ground"), 19},
		{"longer messages", strings.Replace(whole, lines[1], "", 1), 0},
		{"shorter messages", strings.Replace(whole, "2:191:", "2:190:", 1), 1},
		{"offsets between messages", strings.ReplaceAll(whole, "34:6451:", "34:6452:"), 0},
		{"offsets after the end", strings.ReplaceAll(whole, "36:6874:", "36:9999999999:"), 35},
		{"offsets of the same place", strings.ReplaceAll(whole, "36:6874:", "36:6650:"), 36},
		{"huge offsets", strings.ReplaceAll(whole, "36:6874:", "36:9223372036854775807:"), 35},
		{"unordered", lines[1] + lines[0] + strings.Join(lines[2:], ""), 2},
		{"ranges that are too long", "1:0:d=2024010100:TMP:0.1 mb:6 hour fcst:range=0-9223372036854775806:\n", 1},
	} {
		dir := copyOf(t, gfs)
		write(t, filepath.Join(dir, gfs+".idx"), []byte(c.index))
		src, err := source.Open(t.Context(), filepath.Join(dir, gfs))
		if err != nil {
			t.Fatal(err)
		}
		_, err = (grib.Format{Indexes: indexesOf(grib.IndexAuto)}).Open(t.Context(), src)
		src.Close()
		var refused *grib.IndexError
		if c.line == 0 {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			if got, want := describe(t, filepath.Join(dir, gfs), indexesOf(grib.IndexAuto)), describe(t, filepath.Join(dir, gfs), nil); got != want {
				t.Errorf("%s: with the index file\n%s\nwithout\n%s", c.name, got, want)
			}
			continue
		}
		if !errors.As(err, &refused) || refused.Line != c.line || !errors.Is(err, readers.ErrCorrupt) || refused.Index != filepath.Join(dir, gfs+".idx") {
			t.Errorf("%s: %v, want an error of line %d", c.name, err, c.line)
		}
		if got, want := describe(t, filepath.Join(dir, gfs), indexesOf(grib.IndexIgnore)), describe(t, filepath.Join(indexSamples, gfs), nil); got != want {
			t.Errorf("%s: without the index file\n%s", c.name, got)
		}
	}
}

// TestIndexInPart reads the messages themselves where an index file does not describe them.
func TestIndexInPart(t *testing.T) {
	whole := string(contentOf(t, gfs+".idx"))
	lines := strings.SplitAfter(whole, "\n")
	want := describe(t, filepath.Join(indexSamples, gfs), nil)
	for _, c := range []struct {
		name, index string
		require     bool // the index file can be used
	}{
		{"empty", "", false},
		{"binary", "\x00\x01\x02GrADS\n\xff", false},
		{"an HTML page", "<html>\n<body>404</body>\n</html>\n", false},
		{"cut at a line", strings.Join(lines[:20], ""), true},
		{"cut within a line", whole[:1000], true},
		{"without the first lines", strings.Join(lines[5:], ""), true},
		{"a line that is not understood", strings.Replace(whole, lines[5], "6:971:d=2024013100x:\n", 1), true},
		{"other words for levels and steps", strings.ReplaceAll(strings.ReplaceAll(whole, " mb:", " hectopascal:"), " hour fcst", " h later"), true},
	} {
		dir := copyOf(t, gfs)
		name := filepath.Join(dir, gfs)
		write(t, name+".idx", []byte(c.index))
		if got := describe(t, name, indexesOf(grib.IndexAuto)); got != want {
			t.Errorf("%s: with the index file\n%s\nwithout\n%s", c.name, got, want)
		}
		src, err := source.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = (grib.Format{Indexes: indexesOf(grib.IndexRequire)}).Open(t.Context(), src)
		src.Close()
		if (err == nil) != c.require {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// The data file has grown since the index file was written, and its messages are in a bulletin.
	dir := t.TempDir()
	name := filepath.Join(dir, gfs)
	more := append(contentOf(t, gfs), contentOf(t, "gfs.20240102.f006.grib2")...)
	write(t, name, more)
	write(t, name+".idx", []byte(whole))
	if got, want := describe(t, name, indexesOf(grib.IndexAuto)), describe(t, name, nil); got != want {
		t.Errorf("longer data: with the index file\n%s\nwithout\n%s", got, want)
	}
	// Bytes between the messages, which wgrib2 counts to the message before.
	write(t, name, spaced(contentOf(t, gfs), lines))
	write(t, name+".idx", []byte(strings.Join(spacedLines(lines), "")))
	if got, want := describe(t, name, indexesOf(grib.IndexAuto)), describe(t, name, nil); got != want {
		t.Errorf("bytes between messages: with the index file\n%s\nwithout\n%s", got, want)
	}
	// A file whose index file has to be used, and a template file, report the line.
	for what, indexes := range map[string]*grib.IndexReader{"required": indexesOf(grib.IndexRequire), "template": indexesOf(grib.IndexAuto, name)} {
		src, err := source.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = (grib.Format{Indexes: indexes}).Open(t.Context(), src)
		src.Close()
		var refused *grib.IndexError
		if !errors.As(err, &refused) || refused.Line != 1 || refused.Index != name+".idx" {
			t.Errorf("bytes between messages, %s: got %v, want an error of line 1", what, err)
		}
	}
}

// gap is the number of bytes that spaced puts after each message.
const gap = 10

func spaced(b []byte, lines []string) (out []byte) {
	at := 0
	for _, line := range lines[1:] {
		next := len(b)
		if line != "" {
			fmt.Sscanf(line[strings.Index(line, ":")+1:], "%d:", &next)
		}
		out = append(append(out, b[at:next]...), make([]byte, gap)...)
		at = next
	}
	return out
}

func spacedLines(lines []string) (out []string) {
	for i, line := range lines {
		if line == "" {
			continue
		}
		number, rest, _ := strings.Cut(line, ":")
		offset, rest, _ := strings.Cut(rest, ":")
		var at int
		fmt.Sscan(offset, &at)
		out = append(out, fmt.Sprintf("%s:%d:%s", number, at+i*gap, rest))
	}
	return out
}

// TestFirstRead changes messages behind an index file whose lines were right when the file was scanned. Reading them has to fail.
func TestFirstRead(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(b []byte) // of the message of TMP at 500 hPa
		index  bool           // the error says that the index file is the cause
	}{
		{"unchanged", func([]byte) {}, false},
		{"another reference time", func(b []byte) { b[16+15]++ }, true},
		{"another level", func(b []byte) { b[bytesAt(b, 4)+25+1] = 9 }, true},
		{"another parameter", func(b []byte) { b[bytesAt(b, 4)+10] = 7 }, true},
		{"another step", func(b []byte) { b[bytesAt(b, 4)+21] = 9 }, true},
		{"another grid", func(b []byte) { b[bytesAt(b, 3)+49] ^= 1 }, true},
		{"no message", func(b []byte) { b[0] = 'X' }, true},
		{"another length", func(b []byte) { b[15]-- }, true},
		{"another model version", func(b []byte) { b[bytesAt(b, 4)+13] = 97 }, false},
	} {
		dir := copyOf(t, gfs, gfs+".idx")
		name := filepath.Join(dir, gfs)
		const from, to = 578, 774 // of the message, whose headers are derived from the one before
		b := contentOf(t, gfs)
		c.change(b[from:to])
		write(t, name, b)
		src, err := source.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		data, err := (grib.Format{Indexes: indexesOf(grib.IndexAuto)}).Open(t.Context(), src)
		if err != nil {
			t.Fatal(err)
		}
		_, err = data.Variable("/t").ReadAll(t.Context(), 1<<20)
		if errors.Is(err, codec.ErrIndex) != c.index || c.index != (err != nil) {
			t.Errorf("%s: %v", c.name, err)
		}
		src.Close()
	}
}

// bytesAt returns the offset of a section in a message of edition 2.
func bytesAt(b []byte, section byte) int {
	for at := 16; ; {
		if b[at+4] == section {
			return at
		}
		at += int(b[at])<<24 | int(b[at+1])<<16 | int(b[at+2])<<8 | int(b[at+3])
	}
}

// forecastFile is a file of many large messages that takes no memory: their values are zeros.
type forecastFile struct {
	heads  map[int64][]byte
	length int64 // of each message
	size   int64
}

func (f *forecastFile) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	for at := off / f.length * f.length; at < off+int64(len(p)); at += f.length {
		head := f.heads[at]
		if at < off {
			head = head[min(int64(len(head)), off-at):]
			copy(p, head)
		} else {
			copy(p[at-off:], head)
		}
		if end := at + f.length - 4 - off; end >= 0 && end+4 <= int64(len(p)) {
			copy(p[end:], "7777")
		}
	}
	return len(p), nil
}

// TestLargeForecast opens a forecast of 550 MB on a server, with 740 messages of 23 kinds, and then a second one with the first as template.
func TestLargeForecast(t *testing.T) {
	const length, levels = 743_000, 37
	seed := contentOf(t, gfs)
	file := &forecastFile{heads: map[int64][]byte{}, length: length}
	var lines strings.Builder
	number := 0
	for parameter := range 20 {
		for level := range levels {
			b := bytes.Clone(seed[578:774])
			for i, v := range []byte{0, 0, 0, 0, 0, 11, 0x56, 0x58} { // 743,000
				b[8+i] = v
			}
			product := bytesAt(b, 4)
			b[product+9], b[product+10] = 2, byte(parameter)
			pascals := (level + 1) * 2500
			b[product+24], b[product+25], b[product+26], b[product+27] = 0, byte(pascals>>16), byte(pascals>>8), byte(pascals)
			data := bytesAt(b, 7)
			rest := length - 4 - data
			b = append(b[:data], byte(rest>>24), byte(rest>>16), byte(rest>>8), byte(rest), 7)
			file.heads[file.size] = b
			number++
			fmt.Fprintf(&lines, "%d:%d:d=2024010100:V%d:%d mb:6 hour fcst:\n", number, file.size, parameter, pascals/100)
			file.size += length
		}
	}
	server := sourcetest.NewServer(t)
	first := server.PutFile("/first.grib2", file, file.size)
	server.Put("/first.grib2.idx", []byte(lines.String()))
	second := server.PutFile("/second.grib2", file, file.size)
	server.Put("/second.grib2.idx", []byte(lines.String()))

	open := func(name string, indexes *grib.IndexReader) (requests, received int64, text string) {
		requests, received = server.Counts()
		began := time.Now()
		src, err := source.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		if f, err := formats.New(nil).Detect(t.Context(), src); err != nil || f.Name != "GRIB" {
			t.Fatalf("found %s, %v", f.Name, err)
		}
		data, err := (grib.Format{Indexes: indexes}).Open(t.Context(), src)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s takes %v", name, took)
		}
		r, n := server.Counts()
		return r - requests, n - received, refsOf(t.Context(), data)
	}
	requests, received, text := open(first, indexesOf(grib.IndexRequire))
	t.Logf("%d requests for %d bytes of %d", requests, received, file.size)
	if requests > 3 || received > 400_000 || strings.Count(text, "\n") != number {
		t.Errorf("%d requests, %d bytes, %d references; want at most 3, 400,000, and %d", requests, received, strings.Count(text, "\n"), number)
	}
	indexes := indexesOf(grib.IndexRequire, first)
	open(first, indexes) // reads the template
	requests, received, again := open(second, indexes)
	t.Logf("with a template %d requests for %d bytes", requests, received)
	if requests > 2 || received > 400_000 || masks.ReplaceAllString(again, "mask 0") != masks.ReplaceAllString(text, "mask 0") {
		t.Errorf("with a template: %d requests, %d bytes; equal references %v", requests, received, again == text)
	}
}

// refsOf lists the references to the messages of all variables.
func refsOf(ctx context.Context, data *readers.Dataset) string {
	var b strings.Builder
	data.Root.Walk(func(g *readers.Group) bool {
		for _, v := range g.Variables {
			for ref, err := range v.Storage.Refs(ctx) {
				fmt.Fprintf(&b, "%s %v %d %d mask %x %v\n", v.Path, ref.Index, ref.Offset, ref.Size, ref.Mask, err)
			}
		}
		return true
	})
	return b.String()
}

// FuzzIndex opens a file with arbitrary bytes as its index file. All references must be within the file, and errors must be about the index
// file.
func FuzzIndex(f *testing.F) {
	data := contentOf(f, gfs)
	for _, name := range []string{gfs + ".idx", "enfo.20240101.6h.index", "winds.grib2.idx"} {
		f.Add(contentOf(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		open := func(_ context.Context, name string) (*source.Source, error) {
			if name != "data.grib2.idx" {
				return nil, fs.ErrNotExist
			}
			return source.New(name, &readertest.Memory{Data: b}), nil
		}
		src := source.New("data.grib2", &readertest.Memory{Data: data})
		defer src.Close()
		out, err := (grib.Format{Indexes: grib.NewIndexReader(grib.IndexOptions{Open: open})}).Open(t.Context(), src)
		if err != nil {
			var refused *grib.IndexError
			if !errors.As(err, &refused) {
				t.Errorf("error %v is not about the index file", err)
			}
			return
		}
		out.Root.Walk(func(g *readers.Group) bool {
			for _, v := range g.Variables {
				for ref, err := range v.Storage.Refs(t.Context()) {
					if err != nil || ref.Offset < 0 || ref.Offset > int64(len(data)) || ref.Size > uint64(len(data))-uint64(ref.Offset) {
						t.Fatalf("%s: %+v, %v", v.Path, ref, err)
					}
				}
			}
			return true
		})
	})
}

// TestTemplateOfLargeGrid opens messages of edition 1 whose grid definitions are larger than the part of a message that is compared with
// a template.
func TestTemplateOfLargeGrid(t *testing.T) {
	const vertical = 250 // vertical coordinates of 4 bytes
	one := read(t, "reduced1.grib")
	section2 := 8 + int(one[10])
	b := slices.Insert(bytes.Clone(one), section2+32, make([]byte, 4*vertical)...)
	put := func(b []byte, n int) { b[0], b[1], b[2] = byte(n>>16), byte(n>>8), byte(n) }
	length2 := int(one[section2+2]) + 4*vertical
	put(b[4:], len(b))
	put(b[section2:], length2)
	b[section2+3] = vertical
	// ECMWF's way to store the length of a long message: in units of 120 bytes.
	long := bytes.Clone(b)
	units := (len(b) - 4 + 119) / 120
	put(long[4:], 1<<23+units)
	put(long[section2+length2:], 120*units-(len(b)-4))
	for name, b := range map[string][]byte{"short": b, "long": long} {
		line := fmt.Sprintf(`{"date": "20100912", "time": "1200", "step": "0", "levtype": "sfc", "param": "x", "_offset": 0, "_length": %d}`, len(b))
		dir := t.TempDir()
		first, second := filepath.Join(dir, "first.grib"), filepath.Join(dir, "second.grib")
		for _, path := range []string{first, second} {
			write(t, path, b)
			write(t, path+".index", []byte(line+"\n"))
		}
		if got, want := describe(t, second, indexesOf(grib.IndexRequire, first)), describe(t, second, nil); got != want {
			t.Errorf("%s: with the template file\n%s\nwithout\n%s", name, got, want)
		}
		if n, all := derived(t, second, indexesOf(grib.IndexRequire, first)); n != 1 || all != 1 {
			t.Errorf("%s: %d of %d messages are not read", name, n, all)
		}
	}
}
