package codec

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"varve/grid"
)

// samples are configurations of the codecs that need one.
var samples = map[string]struct {
	typ    Type
	config string
}{
	"bytes":                      {float32Type, `{"endian":"little"}`},
	"transpose":                  {float32Type, `{"order":[1,0]}`},
	"sharding_indexed":           {float32Type, `{"chunk_shape":[2,2],"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}`},
	"vlen-utf8":                  {stringType, `{}`},
	"vlen-bytes":                 {Type{Kind: Bytes}, `{}`},
	"scale_offset":               {float32Type, `{"offset":1.0,"scale":2.0}`},
	"cast_value":                 {float32Type, `{"data_type":"int16"}`},
	"reshape":                    {float32Type, `{"shape":[[0],-1]}`},
	"conditional":                {float32Type, `{"codecs":[{"name":"zstd"}]}`},
	"optional":                   {float32Type, `{"codecs":[{"name":"zstd"}]}`},
	"imagecodecs_szip":           {float32Type, `{"options_mask":141,"pixels_per_block":32,"bits_per_pixel":32,"pixels_per_scanline":256,"header":true}`},
	"imagecodecs_packints":       {Type{Kind: Uint, Size: 2}, `{"bitspersample":12,"runlen":4}`},
	"imagecodecs_webp":           {Type{Kind: Uint, Size: 1}, `{}`},
	"imagecodecs_ccittrle":       {Type{Kind: Uint, Size: 1}, `{}`},
	"imagecodecs_ccittfax3":      {Type{Kind: Uint, Size: 1}, `{"t4options":1}`},
	"imagecodecs_ccittfax4":      {Type{Kind: Uint, Size: 1}, `{}`},
	"imagecodecs_jpeg":           {Type{Kind: Uint, Size: 1}, `{}`},
	"hdf5.nbit":                  {int16Type, `{"cd_values":[8,0,4,1,2,0,12,0]}`},
	"hdf5.scaleoffset":           {int16Type, `{"cd_values":[2,0,4,0,2,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}`},
	"hdf5.lzf":                   {float32Type, `{"cd_values":[]}`},
	"hdf5.bitshuffle":            {float32Type, `{"cd_values":[0,4,4,0,2]}`},
	"hdf5.sz":                    {float32Type, `{"cd_values":[2,0,4,4]}`},
	"hdf5.sz3":                   {float32Type, `{"cd_values":[2,0,4,4]}`},
	"hdf5.jpegls":                {int16Type, `{"cd_values":[2,1,4,4,16,1,0,0,0,0,0,0,0]}`},
	"hdf5.sperr":                 {float32Type, `{"cd_values":[1042,268566528,9,9]}`},
	"hdf5.zfp":                   {float32Type, `{"cd_values":[269504785,91252346,288,29360128]}`},
	"hdf5.blosc2":                {float32Type, `{"cd_values":[]}`},
	"hdf4.nbit":                  {int16Type, `{"size":2,"first":11,"bits":12}`},
	"fits.rice":                  {int16Type, `{"bytes":2,"block":32,"size":2}`},
	"fits.plio":                  {int16Type, `{"size":2,"offset":32768}`},
	"fits.hcompress":             {int16Type, `{"size":2}`},
	"fits.quantized":             {float32Type, `{"rows":4,"row":24,"heap":96,"tile":[1,4],"coder":"RICE_1","bytes":4,"block":32,"method":"SUBTRACTIVE_DITHER_1","seed":1,"data":{"at":0,"wide":false,"size":1},"scale":{"kind":"D","at":8},"zero":{"kind":"D","at":16}}`},
	"grib.coordinate":            {Type{Kind: Float, Size: 8}, `{"axis":"latitude"}`},
	"numcodecs.delta":            {float32Type, `{"dtype":"<f4"}`},
	"numcodecs.fixedscaleoffset": {float32Type, `{"offset":0,"scale":10,"dtype":"<f4","astype":"<i2"}`},
	"numcodecs.quantize":         {float32Type, `{"digits":2,"dtype":"<f4"}`},
	"numcodecs.bitround":         {float32Type, `{"keepbits":8}`},
	"numcodecs.astype":           {float32Type, `{"encode_dtype":"<f2","decode_dtype":"<f4"}`},
	"numcodecs.packbits":         {Type{Kind: Bool, Size: 1}, `{}`},
}

// sample returns a pipeline of the named codec, with "bytes" if it needs that, for chunks
// of 4 × 4 elements. It also returns the codec's stage.
func sample(t testing.TB, name string) (p *Pipeline, stage string) {
	t.Helper()
	s, ok := samples[name]
	if !ok {
		s.typ, s.config = float32Type, "{}"
	}
	spec, form := Spec{Name: name, Config: []byte(s.config)}, Form{Type: s.typ, Shape: []int64{4, 4}}
	if name == "imagecodecs_webp" { // images of 4 samples a pixel
		form.Shape = []int64{1, 4, 4}
	}
	layout := Spec{Name: "bytes", Config: []byte(`{"endian":"little"}`)}
	c, err := newCodec(spec, form)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	chain := []Spec{layout, spec}
	stage = "bytes→bytes"
	switch c.(type) {
	case ArrayToArray:
		chain, stage = []Spec{spec, layout}, "array→array"
	case ArrayToBytes:
		chain, stage = []Spec{spec}, "array→bytes"
	}
	if p, err = New(chain, form); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return p, stage
}

// describe returns the row of a codec in the documentation.
func describe(t *testing.T, info Info) []string {
	t.Helper()
	p, stage := sample(t, info.Name)
	encodes, part, filter := "yes", "no", ""
	switch p.methodFor(grid.Region{Origin: make([]int64, len(p.Form().Shape)), Shape: slices.Repeat([]int64{1}, len(p.Form().Shape))}) {
	case byRows, byShard, byTiles:
		part = "yes"
	case bySpan:
		part = "decode"
	}
	if p.CanEncode() != nil {
		encodes = "no"
	}
	if info.Filter != 0 {
		filter = strconv.Itoa(info.Filter)
	}
	return []string{info.Name, info.V2, filter, stage, encodes, part, info.Client.String()}
}

// tableUnder returns the rows of the table in docs/reference/codecs.md with the given header.
func tableUnder(t *testing.T, header string) [][]string {
	t.Helper()
	return tableIn(t, "../docs/reference/codecs.md", header)
}

// tableIn returns the rows of the table of a page with the given header.
func tableIn(t *testing.T, page, header string) [][]string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), header+"\n")
	if !found {
		t.Fatalf("%s has no table %q", page, header)
	}
	var rows [][]string
	for _, line := range strings.Split(rest, "\n")[1:] {
		if !strings.HasPrefix(line, "|") {
			break
		}
		var cells []string
		for _, cell := range strings.Split(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		rows = append(rows, cells)
	}
	return rows
}

func TestDocumentedCodecs(t *testing.T) {
	rows := tableUnder(t, "| name | v2 | filter | stage | encodes | part | read by |")
	documented := map[string][]string{}
	for _, row := range rows {
		documented[row[0]] = row
	}
	for _, info := range Table() {
		if got, want := documented[info.Name], describe(t, info); !slices.Equal(got, want) {
			t.Errorf("docs/reference/codecs.md says %q, the code %q", got, want)
		}
		delete(documented, info.Name)
	}
	for name := range documented {
		t.Errorf("docs/reference/codecs.md lists %q, which is no codec", name)
	}
}

func TestDocumentedRefusals(t *testing.T) {
	rows := tableUnder(t, "| name | why |")
	if len(rows) != len(refusedCodecs) {
		t.Errorf("docs/reference/codecs.md lists %d refused codecs, the code has %d", len(rows), len(refusedCodecs))
	}
	for _, row := range rows {
		if refusedCodecs[row[0]] != row[1] {
			t.Errorf("docs/reference/codecs.md says of %q: %q, the code %q", row[0], row[1], refusedCodecs[row[0]])
		}
	}
}

// spansOf returns what docs/explanation/random-access.md says of a codec, or "" for a codec that needs whole chunks.
func spansOf(t *testing.T, name string) string {
	t.Helper()
	p, _ := sample(t, name)
	for _, c := range p.codecs() {
		// Chains of the other codecs have "bytes" too.
		if _, isBytes := c.(*bytesCodec); isBytes && name != "bytes" {
			continue
		}
		switch c.(type) {
		case spanCodec:
			return "starts"
		case *bytesCodec, surrounder, *shuffleCodec, regionMapper:
			return "through"
		}
	}
	return ""
}

// TestDocumentedSpans checks the table of codecs that allow random access, and that chunks with these codecs have access
// points, and no others.
func TestDocumentedSpans(t *testing.T) {
	documented := map[string]string{}
	for _, row := range tableIn(t, "../docs/explanation/random-access.md", "| codec | spans |") {
		documented[row[0]] = row[1]
	}
	for _, info := range Table() {
		want := spansOf(t, info.Name)
		if got := documented[info.Name]; got != want {
			t.Errorf("the page says %q of %s, the code %q", got, info.Name, want)
		}
		delete(documented, info.Name)
		p, stage := sample(t, info.Name)
		if stage == "array→bytes" && info.Name != "bytes" {
			if p.CheckPoints() == nil {
				t.Errorf("%s: chunks have access points", info.Name)
			}
			continue
		}
		specs := p.Specs()
		if want != "starts" {
			specs = append(specs, Spec{Name: "numcodecs.zlib"})
		}
		chain, err := New(specs, p.Form())
		if err != nil {
			t.Fatal(err)
		}
		if err := chain.CheckPoints(); (err == nil) != (want != "") {
			t.Errorf("%s with a compressor: %v", info.Name, err)
		}
	}
	for name := range documented {
		t.Errorf("the page lists %q, which is no codec", name)
	}
}
