package tiff

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"varve/codec"
	"varve/readers"
	"varve/readers/internal/attribute"
	"varve/readers/internal/chunks"
	"varve/readers/internal/crs"
	"varve/readers/source"
)

// Limits of what Describe lists.
const (
	maxListed = 300     // directories
	maxText   = 200     // bytes of a text; longer ones have a hash
	maxHashed = 1 << 30 // bytes of values that are hashed
)

// facts are the members of an object of JSON.
type facts = map[string]any

// Describe adds "tiff" to a document: byteOrder, bigtiff and ifds, an object for each directory with what its tags say, and
// with hashes of values if they are wanted. If some values cannot be read, the status is "partial".
func Describe(ctx context.Context, src *source.Source, o *readers.DescribeOptions, doc facts) error {
	f, first, err := openFile(ctx, src)
	if err != nil {
		return err
	}
	list, failure := f.directories(ctx, first)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	d := describer{ctx: ctx, file: f, values: o.Values, failure: failure, ifds: []facts{}}
	for _, dir := range list {
		d.add(dir, nil)
	}
	order := "little"
	if f.endian() == codec.BigEndian {
		order = "big"
	}
	doc["tiff"] = facts{"bigtiff": f.isBig, "byteOrder": order, "ifds": d.ifds}
	if d.failure != nil && d.readable {
		doc["status"], doc["error"] = "partial", d.failure.Error()
		return &readers.PartialError{Err: d.failure}
	}
	return d.failure
}

// describer describes directories one after the other.
type describer struct {
	ctx      context.Context
	file     *file
	values   bool
	ifds     []facts
	last     *image // the last image of the chain
	failure  error
	readable bool // the values of a directory could be read
}

func (d *describer) fail(err error) {
	if d.failure == nil {
		d.failure = err
	}
}

func (d *describer) add(dir *directory, parent *image) {
	if len(d.ifds) == maxListed {
		return
	}
	out := facts{"path": dir.path, "offset": dir.offset}
	d.ifds = append(d.ifds, out)
	m, err := dir.image(d.ctx)
	if err != nil {
		out["error"] = err.Error()
		d.fail(err)
	} else {
		d.describe(out, m, parent)
		if parent == nil && m.kind&(reducedBit|maskBit) == 0 {
			d.last = m
		}
	}
	for _, sub := range dir.subs {
		d.add(sub, m)
	}
}

// describe adds what the tags of an image say.
func (d *describer) describe(out facts, m, parent *image) {
	out["newSubfileType"], out["role"] = m.kind, [...]string{"image", "overview", "image", "overview", "mask", "maskOverview", "mask", "maskOverview"}[m.kind&7]
	if of := parent; m.kind&(reducedBit|maskBit) != 0 {
		if of == nil {
			of = d.last
		}
		if of != nil {
			out["of"] = of.path
		}
	} else if parent != nil {
		out["of"] = parent.path
	}
	out["width"], out["height"], out["samplesPerPixel"] = m.width, m.height, m.samples
	out["bitsPerSample"], out["sampleFormat"] = oneOrAll(m.allBits), oneOrAll(m.allFormats)
	out["compression"], out["predictor"] = m.compression, m.predictor
	out["planarConfiguration"], out["fillOrder"], out["orientation"] = d.number(m, planarTag, 1), d.number(m, fillOrderTag, 1), d.number(m, orientationTag, 1)
	for tag, key := range map[uint16]string{extraSamples: "extraSamples", yCbCrSubSampling: "yCbCrSubSampling"} {
		if list, err := m.numbers(d.ctx, tag); err == nil && list != nil {
			out[key] = list
		}
	}
	if m.tables != nil {
		out["jpegTables"] = hashOf(m.tables)
	}
	if list, err := m.numbers(d.ctx, colorMap); err == nil && list != nil {
		var data []byte
		for _, v := range list {
			data = binary.LittleEndian.AppendUint16(data, uint16(v))
		}
		out["colorMap"] = facts{"count": len(list) / 3, "sha256": hashOf(data)}
	}
	if m.photometric >= 0 {
		out["photometric"] = m.photometric
	}
	out["tiled"], out["chunkShape"] = m.tiled, []uint64{m.rows, m.columns}
	if m.depth > 1 {
		out["depth"] = m.depth
	}
	if m.lookup(tileDepth) != nil {
		out["tileDepth"] = m.depthOfTile
	}
	d.storage(out, m)
	d.texts(out, m)
	d.place(out, m, parent)
	if d.values {
		values, err := d.hash(m)
		if err != nil {
			values = facts{"error": err.Error()}
			d.fail(err)
		} else {
			d.readable = true
		}
		out["values"] = values
	}
}

func oneOrAll(list []int) any {
	if allSame(list) {
		return list[0]
	}
	return list
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (d *describer) number(m *image, tag uint16, absent uint64) uint64 {
	n, err := m.number(d.ctx, tag, absent)
	if err != nil {
		return absent
	}
	return n
}

// storage adds a hash of the positions and sizes of all tiles or strips.
func (d *describer) storage(out facts, m *image) {
	e := m.lookup(m.offsetsTag())
	if e == nil {
		return
	}
	n, ok := m.chunks()
	if !ok || n > e.count {
		n = e.count
	}
	h, sparse, total := sha256.New(), 0, uint64(0)
	places, pair := m.places(n), make([]byte, 0, 16)
	for range n {
		at, size, err := places.next(d.ctx)
		if err != nil {
			d.fail(err)
			return
		}
		if at == 0 || size == 0 {
			sparse++
		}
		total += size
		pair = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(pair[:0], at), size)
		h.Write(pair)
	}
	out["storage"] = facts{"count": n, "sparse": sparse, "bytes": total, "sha256": hex.EncodeToString(h.Sum(nil))}
}

// texts adds the texts of tags, and what GDAL's tags say.
func (d *describer) texts(out facts, m *image) {
	for tag, key := range map[uint16]string{documentName: "documentName", imageDescription: "description", makeTag: "make", modelTag: "model", pageName: "pageName",
		softwareTag: "software", dateTime: "dateTime", artistTag: "artist", hostComputer: "hostComputer", copyrightTag: "copyright", gdalNodata: "nodataText"} {
		if text, ok, err := m.text(d.ctx, tag); err == nil && ok {
			out[key] = shortText(text)
		}
	}
	if text, ok, err := m.nodata(d.ctx); err == nil && ok {
		t, err := m.element()
		isOutside := err == nil && t.Class == readers.Integer && attribute.Element(text, t) == nil // GDAL ignores it
		if v, ok := numberOf(text); ok && !isOutside {
			if f, isFloat := v.(float64); isFloat && m.format == floatSamples && m.bits == 32 {
				v = float64(float32(f)) // what pixels can hold
			}
			out["nodata"] = v
		}
	}
	list, file, err := m.bands(d.ctx)
	if err != nil {
		d.fail(err)
		return
	}
	if metadata := shortTexts(file); len(metadata) > 0 {
		out["metadata"] = metadata
	}
	bands := facts{}
	for i, x := range list {
		b := facts{}
		if x.scale != 1 {
			b["scale"] = x.scale
		}
		if x.offset != 0 {
			b["offset"] = x.offset
		}
		if x.unit != "" {
			b["unit"] = x.unit
		}
		if x.description != "" {
			b["description"] = x.description
		}
		if metadata := shortTexts(x.metadata); len(metadata) > 0 {
			b["metadata"] = metadata
		}
		if len(b) > 0 {
			bands[fmt.Sprint(i)] = b
		}
	}
	if len(bands) > 0 {
		out["bands"] = bands
	}
}

// shortText returns a text, or the hash of one that is long or not UTF-8.
func shortText(text string) any {
	if len(text) > maxText || !utf8.ValidString(text) {
		return facts{"length": len(text), "sha256": hashOf([]byte(text))}
	}
	return text
}

func shortTexts(all map[string]string) facts {
	out := facts{}
	for name, text := range all {
		if len(text) <= maxText {
			out[name] = text
		}
	}
	return out
}

// numberOf returns a number of a text, in a form that JSON has.
func numberOf(text string) (any, bool) {
	if v, err := strconv.ParseInt(text, 10, 64); err == nil {
		return v, true
	}
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case math.IsNaN(v):
		return "nan", true
	case math.IsInf(v, 1):
		return "inf", true
	case math.IsInf(v, -1):
		return "-inf", true
	}
	return v, err == nil
}

// hash hashes the samples of an image, band by band.
func (d *describer) hash(m *image) (facts, error) {
	shape, names := m.shape()
	v := &readers.Variable{Path: "/" + m.path, Shape: shape}
	var err error
	if v.Type, err = m.element(); err == nil {
		err = m.setStorage(d.ctx, v)
	}
	if err == nil {
		var nodata string
		nodata, _, err = m.nodata(d.ctx)
		setMissing(v, []string{nodata})
	}
	if err != nil {
		return nil, err
	}
	value, err := chunks.ReadAll(d.ctx, m.file.src, v, maxHashed)
	if err != nil {
		return nil, err
	}
	data, size := value.Data, v.Type.Size
	if len(names) > 1 && names[len(names)-1] == "band" {
		data = bandByBand(data, size, m.samples)
	}
	part := size
	if v.Type.Class == readers.Complex || v.Type.Class == readers.Compound {
		part = size / 2
	}
	if v.Type.Class == readers.Float || v.Type.Class == readers.Complex {
		quietNaN(data, part)
	}
	lengths := []uint64{uint64(m.samples), m.height, m.width}
	if m.depth > 1 {
		lengths = slices.Insert(lengths, 1, m.depth)
	}
	out := facts{"dtype": dtypeOf(v.Type), "shape": lengths, "sha256": hashOf(data)}
	if isLossy := m.compression == jpegCoding || m.compression == webpCoding; isLossy && m.depth == 1 && v.Type.Class == readers.Integer {
		out["blocks"] = blocks(data, size, v.Type.Signed, m)
	}
	return out, nil
}

// bandByBand reorders samples that follow each other in a pixel.
func bandByBand(data []byte, size, samples int) []byte {
	out := make([]byte, len(data))
	count := len(data) / size / samples
	for b := range samples {
		for i := range count {
			copy(out[(b*count+i)*size:][:size], data[(i*samples+b)*size:])
		}
	}
	return out
}

func dtypeOf(t *readers.Type) string {
	switch {
	case t.Class == readers.Float:
		return fmt.Sprint("float", 8*t.Size)
	case t.Class == readers.Complex:
		return fmt.Sprint("complex", 8*t.Size)
	case t.Class == readers.Compound:
		return fmt.Sprint("complex_int", 4*t.Size)
	case t.Signed:
		return fmt.Sprint("int", 8*t.Size)
	}
	return fmt.Sprint("uint", 8*t.Size)
}

// quietNaN gives every NaN the same bits.
func quietNaN(b []byte, size int) {
	for at := 0; at+size <= len(b); at += size {
		e := b[at:]
		switch size {
		case 2:
			if v := binary.LittleEndian.Uint16(e); v&0x7fff > 0x7c00 {
				binary.LittleEndian.PutUint16(e, 0x7e00)
			}
		case 4:
			if v := binary.LittleEndian.Uint32(e); v&0x7fffffff > 0x7f800000 {
				binary.LittleEndian.PutUint32(e, 0x7fc00000)
			}
		case 8:
			if v := binary.LittleEndian.Uint64(e); v&(1<<63-1) > 0x7ff<<52 {
				binary.LittleEndian.PutUint64(e, 0x7ff8<<48)
			}
		}
	}
}

// blocks returns the means of 4 by 4 parts of each of the first 8 bands: lossy samples may differ a little.
func blocks(data []byte, size int, signed bool, m *image) (all [][]any) {
	at := func(b, y, x int) float64 {
		e := data[((b*int(m.height)+y)*int(m.width)+x)*size:]
		var word [8]byte
		copy(word[:], e[:size])
		v := binary.LittleEndian.Uint64(word[:])
		if signed {
			return float64(int64(v<<(64-8*size)) >> (64 - 8*size))
		}
		return float64(v)
	}
	h, w := int(m.height), int(m.width)
	for b := range min(m.samples, 8) {
		means := make([]any, 0, 16)
		for i := range 16 {
			sum, n := 0.0, 0
			for y := h * (i / 4) / 4; y < h*(i/4+1)/4; y++ {
				for x := w * (i % 4) / 4; x < w*(i%4+1)/4; x++ {
					sum += at(b, y, x)
					n++
				}
			}
			if n == 0 {
				means = append(means, nil)
				continue
			}
			means = append(means, sum/float64(n))
		}
		all = append(all, means)
	}
	return all
}

// place adds where an image is.
func (d *describer) place(out facts, m, parent *image) {
	whole := parent
	if whole == nil {
		whole = d.last
	}
	if m.kind&reducedBit == 0 {
		whole = nil
	}
	p, err := m.placeIn(d.ctx, whole)
	if err != nil {
		d.fail(err)
		return
	}
	if p == nil {
		return
	}
	geo := facts{}
	if p.keys != nil {
		keys := facts{}
		for id, value := range p.keys.values {
			keys[fmt.Sprint(id)] = value
		}
		out["geoKeys"] = keys
	}
	if p.areaOrPoint != "" {
		geo["areaOrPoint"] = p.areaOrPoint
	}
	if p.transform != nil {
		geo["transform"] = p.transform[:]
	}
	if x, y, ok := p.centres(); ok {
		geo["x"], geo["y"] = []float64{x.at(0), x.at(m.width - 1)}, []float64{y.at(0), y.at(m.height - 1)}
	}
	if len(p.gcps) > 0 {
		geo["gcps"] = p.gcps[:min(len(p.gcps), 100)]
	}
	if r := p.rpc; r != nil {
		geo["rpc"] = facts{"line_off": r.lineOffset, "samp_off": r.sampleOffset, "lat_off": r.latitudeOffset, "long_off": r.longitudeOffset, "height_off": r.heightOffset,
			"line_scale": r.lineScale, "samp_scale": r.sampleScale, "lat_scale": r.latitudeScale, "long_scale": r.longitudeScale, "height_scale": r.heightScale}
	}
	if p.system != nil {
		geo["crs"] = systemFacts(p.system)
	}
	if len(geo) > 0 {
		out["geo"] = geo
	}
}

func systemFacts(s *crs.System) facts {
	out := facts{"name": s.Name, "wkt": s.WKT()}
	if s.Code != 0 {
		out["epsg"] = s.Code
	}
	for i, part := range s.Parts {
		if part.Code != 0 {
			out[[]string{"horizontalEpsg", "verticalEpsg"}[min(i, 1)]] = part.Code
		}
	}
	cf := facts{}
	for _, a := range s.GridMapping() {
		cf[a.Name] = a.Value
	}
	out["cf"] = cf
	return out
}
