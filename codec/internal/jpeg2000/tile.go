package jpeg2000

import (
	"math"

	"varve/codec/internal/corrupt"
)

// A tile is an image of its own (annex B). After n levels of the wavelet transform it has n+1
// resolutions. Resolution 0 is the tile at 1/2^n of its size. Each further resolution adds three
// subbands that double the size. The tile's memory has this layout:
//
//	LL HL
//	LH HH
//
// where LL is the next smaller image. A resolution is divided into precincts, and a subband of a
// precinct into code-blocks. All borders are at multiples of powers of 2 in the coordinates of the
// resolution or the subband: the coordinates of the tile divided by 2^levels.

// rect is a rectangle that includes (x0, y0) and excludes (x1, y1).
type rect struct{ x0, y0, x1, y1 int }

func (r rect) width() int  { return r.x1 - r.x0 }
func (r rect) height() int { return r.y1 - r.y0 }
func (r rect) empty() bool { return r.x0 >= r.x1 || r.y0 >= r.y1 }

func (r rect) intersect(o rect) rect {
	return rect{max(r.x0, o.x0), max(r.y0, o.y0), min(r.x1, o.x1), min(r.y1, o.y1)}
}

// tile collects the contents of packets.
type tile struct {
	rect
	coding      *coding
	resolutions []resolution
	visits      int // of code-blocks that headers of packets may make
}

type resolution struct {
	rect
	level                uint // the number of times that the tile was halved
	precinctW, precinctH uint // exponents of 2
	wide, high           int  // precincts
	bands                []band
	precincts            []precinct
}

// The orientations of subbands: which directions were high-pass filtered.
const (
	bandLL = iota
	bandHL
	bandLH
	bandHH
)

type band struct {
	rect
	orientation int
	x, y        int     // its position in the tile's memory
	planes      int     // bit-planes of a coefficient (Mb)
	step        float32 // of quantization
}

// precinct is a precinct of a resolution. Each packet has data of one precinct.
type precinct struct {
	layers int // that have been read
	bands  []precinctBand
}

type precinctBand struct {
	blocks                []block
	wide                  int
	inclusion, zeroPlanes tagTree
}

// block is a code-block.
type block struct {
	rect
	segments   []segment
	data       []byte // of all segments, one after the other
	owned      bool   // data is a copy
	planes     int    // with a bit that is not 0
	lengthBits int
	pending    int // passes of the packet that is read
}

// segment is a run of passes that is terminated.
type segment struct {
	passes, most int
	length       int
	newPasses    int
	newLength    int
}

// tileAt returns the rectangle of a tile.
func (s *siz) tileAt(index int) rect {
	x := s.tileX0 + index%s.tilesWide()*s.tileWidth
	y := s.tileY0 + index/s.tilesWide()*s.tileHeight
	return rect{x, y, x + s.tileWidth, y + s.tileHeight}.intersect(rect{s.x0, s.y0, s.x1, s.y1})
}

// newTile makes a tile. Its precincts are made when a packet has them.
func newTile(s *siz, part *tilePart) (*tile, error) {
	c := part.coding
	t := &tile{rect: s.tileAt(part.index), coding: c, resolutions: make([]resolution, c.levels+1)}
	precincts := 0
	t.visits = 1 << 20
	for r := range t.resolutions {
		res := &t.resolutions[r]
		res.level = uint(c.levels - r)
		res.rect = rect{ceilShift(t.x0, res.level), ceilShift(t.y0, res.level), ceilShift(t.x1, res.level), ceilShift(t.y1, res.level)}
		res.precinctW, res.precinctH = c.precincts[r][0], c.precincts[r][1]
		if !res.empty() {
			res.wide = ceilShift(res.x1, res.precinctW) - res.x0>>res.precinctW
			res.high = ceilShift(res.y1, res.precinctH) - res.y0>>res.precinctH
		}
		// A packet takes a byte at least, and each precinct has one.
		if precincts += res.wide * res.high; precincts > len(part.packets)+c.levels+1 {
			return nil, corrupt.Errorf("%d precincts in %d bytes", precincts, len(part.packets))
		}
		res.precincts = make([]precinct, res.wide*res.high)
		t.makeBands(s, r)
	}
	return t, nil
}

func (t *tile) makeBands(s *siz, r int) {
	res := &t.resolutions[r]
	if r == 0 {
		res.bands = []band{{rect: res.rect}}
	} else {
		lower := t.resolutions[r-1].rect
		res.bands = make([]band, 3)
		for i := range res.bands {
			o := i + 1
			res.bands[i] = band{rect: t.bandRect(o, res.level+1), orientation: o, x: o & 1 * lower.width(), y: o >> 1 * lower.height()}
		}
	}
	for i := range res.bands {
		b := &res.bands[i]
		step := t.coding.steps[max(0, 3*(r-1))+b.orientation]
		b.planes = step.exponent + t.coding.guardBits - 1
		b.step = float32(float64(2048+step.mantissa) / 2048 * math.Ldexp(1, s.bits-step.exponent))
	}
}

// bandRect returns a subband of the tile after n levels (B-15).
func (t *tile) bandRect(orientation int, n uint) rect {
	x, y := orientation&1<<(n-1), orientation>>1<<(n-1)
	return rect{ceilShift(t.x0-x, n), ceilShift(t.y0-y, n), ceilShift(t.x1-x, n), ceilShift(t.y1-y, n)}
}

// precinct returns a precinct, and makes its code-blocks the first time.
func (t *tile) precinct(r, index int) *precinct {
	res := &t.resolutions[r]
	p := &res.precincts[index]
	if p.bands != nil {
		return p
	}
	p.bands = make([]precinctBand, len(res.bands))
	width, height := res.precinctW, res.precinctH
	x := res.x0>>width + index%res.wide
	y := res.y0>>height + index/res.wide
	if r > 0 { // in the coordinates of subbands
		width, height = width-1, height-1
	}
	area := rect{x << width, y << height, (x + 1) << width, (y + 1) << height}
	blockW, blockH := min(t.coding.blockWidth, width), min(t.coding.blockHeight, height)
	for i := range p.bands {
		p.bands[i] = t.newPrecinctBand(area.intersect(res.bands[i].rect), blockW, blockH)
	}
	return p
}

func (t *tile) newPrecinctBand(area rect, blockW, blockH uint) precinctBand {
	if area.empty() {
		return precinctBand{}
	}
	x0, y0 := area.x0>>blockW, area.y0>>blockH
	wide, high := ceilShift(area.x1, blockW)-x0, ceilShift(area.y1, blockH)-y0
	t.visits += maxLayersSeen * wide * high
	p := precinctBand{blocks: make([]block, wide*high), wide: wide, inclusion: newTagTree(wide, high), zeroPlanes: newTagTree(wide, high)}
	for i := range p.blocks {
		x, y := x0+i%wide, y0+i/wide
		p.blocks[i].rect = rect{x << blockW, y << blockH, (x + 1) << blockW, (y + 1) << blockH}.intersect(area)
	}
	return p
}

// maxLayersSeen bounds the packets that may examine every code-block again. No encoder writes so many
// layers; an empty packet examines no code-block.
const maxLayersSeen = 1000

// decoder decodes tiles.
type decoder struct {
	siz    siz
	coder  blockCoder
	buffer []int32 // of a tile that is not the whole image
	line   []int32 // for the wavelet transform
}

func newDecoder(s siz) *decoder { return &decoder{siz: s} }

// tile decodes a tile into the image.
func (d *decoder) tile(image []int32, part *tilePart) error {
	t, err := newTile(&d.siz, part)
	if err != nil {
		return err
	}
	if err := t.readPackets(part.packets); err != nil {
		return err
	}
	width, height := t.width(), t.height()
	whole := len(image) == width*height
	samples := image
	if !whole {
		if cap(d.buffer) < width*height {
			d.buffer = make([]int32, width*height)
		}
		samples = d.buffer[:width*height]
	}
	clear(samples)
	if err := d.blocks(samples, t); err != nil {
		return err
	}
	d.transform(samples, t)
	d.shift(samples, t.coding.reversible)
	if whole {
		return nil
	}
	imageWidth := d.siz.x1 - d.siz.x0
	for y := range height {
		at := (t.y0-d.siz.y0+y)*imageWidth + t.x0 - d.siz.x0
		copy(image[at:at+width], samples[y*width:])
	}
	return nil
}

// blocks decodes all code-blocks into the tile's memory.
func (d *decoder) blocks(samples []int32, t *tile) error {
	for r := range t.resolutions {
		res := &t.resolutions[r]
		for i := range res.precincts {
			p := &res.precincts[i]
			for k := range p.bands {
				for j := range p.bands[k].blocks {
					if err := d.block(samples, t, &res.bands[k], &p.bands[k].blocks[j]); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

func (d *decoder) block(samples []int32, t *tile, b *band, k *block) error {
	if len(k.segments) == 0 {
		return nil
	}
	if err := d.coder.decode(k, b.orientation, t.coding); err != nil {
		return err
	}
	w, width := k.width(), t.width()
	values := d.coder.data
	if shift := t.coding.roiShift; shift > 0 {
		unshiftRegion(values, shift)
	}
	at := (k.y0-b.y0+b.y)*width + k.x0 - b.x0 + b.x
	for ; len(values) > 0; values, at = values[w:], at+width {
		line := samples[at : at+w]
		if t.coding.reversible {
			for i, v := range values[:w] {
				line[i] = v / 2
			}
		} else {
			step := 0.5 * b.step
			for i, v := range values[:w] {
				line[i] = int32(math.Float32bits(float32(v) * step))
			}
		}
	}
	return nil
}

// unshiftRegion shifts the coefficients of a region of interest down to the scale of the others (annex H).
func unshiftRegion(values []int32, shift int) {
	for i, v := range values {
		magnitude := max(v, -v)
		switch {
		case shift >= 31:
			values[i] = 0
		case magnitude >= 1<<shift && v < 0:
			values[i] = -(magnitude >> shift)
		case magnitude >= 1<<shift:
			values[i] = magnitude >> shift
		}
	}
}

// shift converts samples centred at zero to unsigned samples, and clips them (annex G).
func (d *decoder) shift(samples []int32, reversible bool) {
	top, half := int32(1<<d.siz.bits-1), int32(1)<<(d.siz.bits-1)
	if reversible {
		for i, v := range samples {
			samples[i] = min(max(v+half, 0), top)
		}
		return
	}
	for i, v := range samples {
		f := math.Float32frombits(uint32(v))
		switch {
		case f > math.MaxInt32:
			samples[i] = top
		case f < math.MinInt32:
			samples[i] = 0
		default:
			samples[i] = int32(min(max(int64(math.RoundToEven(float64(f)))+int64(half), 0), int64(top)))
		}
	}
}
