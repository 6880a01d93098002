package jpeg2000

import (
	"encoding/binary"

	"varve/codec/internal/corrupt"
)

// A codestream (annex A) is a sequence of markers. Most are followed by a segment, whose length
// includes its own two bytes but not the marker:
//
//	SOC
//	SIZ 2 length, 2 capabilities, 4×8 sizes and origins of image and tiles, 2 components, then 3 each
//	COD, QCD and others: how it is coded
//	SOT 2 length, 2 tile, 4 length of the tile-part from SOT on, 1 its number, 1 how many
//	    COD, QCD and others for this tile
//	    SOD, packets
//	… more tile-parts
//	EOC
const (
	markerSIZ = 0xff51
	markerCOD = 0xff52
	markerCOC = 0xff53
	markerQCD = 0xff5c
	markerQCC = 0xff5d
	markerRGN = 0xff5e
	markerPOC = 0xff5f
	markerPPM = 0xff60
	markerPPT = 0xff61
	markerSOT = 0xff90
	markerSOP = 0xff91
	markerEPH = 0xff92
	markerSOD = 0xff93
	markerEOC = 0xffd9
	markerCAP = 0xff50
)

// Sizes of marker segments, without their length.
const (
	sizFixed     = 36
	sizComponent = 3
	sotBytes     = 8
	codFixed     = 10
	cocFixed     = 6
	rgnBytes     = 3
	pocBytes     = 7
)

const (
	maxLevels = 32
	maxBands  = 3*maxLevels + 1
	maxBits   = 31
	maxLayers = 65535
	maxSide   = 1<<31 - 1
)

// siz is the content of marker SIZ: image and tiles on the reference grid, which equals the grid of the samples.
type siz struct {
	x0, y0, x1, y1                        int
	tileX0, tileY0, tileWidth, tileHeight int
	bits                                  int
}

func (s *siz) tilesWide() int { return ceilDiv(s.x1-s.tileX0, s.tileWidth) }
func (s *siz) tilesHigh() int { return ceilDiv(s.y1-s.tileY0, s.tileHeight) }

// coding is how a tile is coded: COD, QCD and the others.
type coding struct {
	progression byte
	layers      int
	levels      int  // of the wavelet transform
	blockWidth  uint // exponent of 2
	blockHeight uint
	style       byte // of code-blocks
	reversible  bool
	precincts   [maxLevels + 1][2]uint // exponents of width and height, by resolution
	sop, eph    bool

	guardBits int
	steps     [maxBands]step // by subband
	hasSteps  bool
	roiShift  int
	changes   []change // of progression
}

// step is the exponent and mantissa of a quantization step (E.1).
type step struct{ exponent, mantissa int }

// change is a volume of packets in an order of its own (POC).
type change struct {
	resolution0, resolution1, layer1 int
	progression                      byte
}

// The styles of code-blocks (table A.19).
const (
	styleBypass    = 1 << iota // the last passes are not arithmetically coded
	styleReset                 // contexts are reset after each pass
	styleTerminate             // each pass is a segment of its own
	styleCausal                // contexts do not depend on the next stripe
	stylePredictable
	styleSymbols // a cleanup pass ends with a symbol
	styleHighThroughput
)

// tilePart is a tile with the packets of all its tile-parts.
type tilePart struct {
	index   int
	coding  *coding
	packets []byte
	parts   int
}

type parser struct {
	src       []byte
	at        int
	siz       siz
	main      coding
	hasSize   bool
	hasCoding bool
	tiles     map[int]*tilePart
	order     []int
}

// parse reads all markers.
func (p *parser) parse() error {
	p.tiles = map[int]*tilePart{}
	p.at = 2 // SOC, which was looked at
	for {
		marker, segment, err := p.next()
		if err != nil {
			return err
		}
		switch {
		case marker == markerEOC:
			return p.finish()
		case marker == markerSIZ && !p.hasSize:
			err = p.readSIZ(segment)
		case !p.hasSize:
			return corrupt.Errorf("jpeg2000: marker %04x at byte %d before the size", marker, p.at)
		case marker == markerSOT:
			err = p.tilePart(segment)
		default:
			err = p.readCoding(&p.main, marker, segment)
		}
		if err != nil {
			return err
		}
		if p.at >= len(p.src) && len(p.tiles) > 0 {
			return p.finish() // a missing EOC is accepted: no tile-part can follow
		}
	}
}

func (p *parser) finish() error {
	if len(p.tiles) == 0 {
		return corrupt.Errorf("jpeg2000: no tiles")
	}
	for _, t := range p.tiles {
		if t.coding.changes == nil {
			t.coding.changes = p.main.changes
		}
	}
	return nil
}

// next reads a marker and its segment.
func (p *parser) next() (uint16, []byte, error) {
	if len(p.src)-p.at < 2 {
		return 0, nil, corrupt.Errorf("jpeg2000: truncated at byte %d, at a marker", len(p.src))
	}
	marker := binary.BigEndian.Uint16(p.src[p.at:])
	if marker < 0xff00 {
		return 0, nil, corrupt.Errorf("jpeg2000: %04x at byte %d is no marker", marker, p.at)
	}
	p.at += 2
	if marker == markerEOC || marker == markerSOD || marker >= 0xff30 && marker <= 0xff3f {
		return marker, nil, nil
	}
	if len(p.src)-p.at < 2 {
		return 0, nil, corrupt.Errorf("jpeg2000: truncated at byte %d, in marker %04x", len(p.src), marker)
	}
	n := int(binary.BigEndian.Uint16(p.src[p.at:]))
	if n < 2 || n > len(p.src)-p.at {
		return 0, nil, corrupt.Errorf("jpeg2000: marker %04x at byte %d has %d bytes, and %d are left", marker, p.at-2, n, len(p.src)-p.at)
	}
	segment := p.src[p.at+2 : p.at+n]
	p.at += n
	return marker, segment, nil
}

func (p *parser) readSIZ(b []byte) error {
	if len(b) < sizFixed+sizComponent {
		return corrupt.Errorf("jpeg2000: SIZ of %d bytes", len(b))
	}
	var v [8]int
	for i := range v {
		v[i] = int(binary.BigEndian.Uint32(b[2+4*i:]))
	}
	s := siz{x1: v[0], y1: v[1], x0: v[2], y0: v[3], tileWidth: v[4], tileHeight: v[5], tileX0: v[6], tileY0: v[7]}
	switch {
	case s.x1 > maxSide || s.y1 > maxSide || s.x0 >= s.x1 || s.y0 >= s.y1 || s.tileWidth == 0 || s.tileHeight == 0 ||
		s.tileX0 > s.x0 || s.tileY0 > s.y0 || s.tileX0+s.tileWidth <= s.x0 || s.tileY0+s.tileHeight <= s.y0:
		return corrupt.Errorf("jpeg2000: image (%d, %d) to (%d, %d) in tiles of %d × %d from (%d, %d)",
			s.x0, s.y0, s.x1, s.y1, s.tileWidth, s.tileHeight, s.tileX0, s.tileY0)
	case binary.BigEndian.Uint16(b[34:]) != 1:
		return unsupported("an image of %d components", binary.BigEndian.Uint16(b[34:]))
	case b[36]&0x80 != 0:
		return unsupported("signed samples")
	case b[36]+1 > maxBits:
		return unsupported("samples of %d bits", b[36]+1)
	case b[37] != 1 || b[38] != 1:
		return unsupported("an image subsampled by %d and %d", b[37], b[38])
	}
	s.bits = int(b[36]) + 1
	p.siz, p.hasSize = s, true
	return nil
}

// tilePart reads a tile-part after its SOT.
func (p *parser) tilePart(b []byte) error {
	start := p.at - sotBytes - 4
	if len(b) != sotBytes {
		return corrupt.Errorf("jpeg2000: SOT at byte %d of %d bytes, %d are expected", start, len(b), sotBytes)
	}
	if !p.hasCoding || !p.main.hasSteps {
		return corrupt.Errorf("jpeg2000: a tile at byte %d before COD and QCD", start)
	}
	index, length := int(binary.BigEndian.Uint16(b)), int(binary.BigEndian.Uint32(b[2:]))
	if index >= p.siz.tilesWide()*p.siz.tilesHigh() {
		return corrupt.Errorf("jpeg2000: tile %d of %d × %d at byte %d", index, p.siz.tilesWide(), p.siz.tilesHigh(), start)
	}
	end := start + length
	if length == 0 { // up to EOC
		end = len(p.src)
		if end >= 2 && binary.BigEndian.Uint16(p.src[end-2:]) == markerEOC {
			end -= 2
		}
	}
	if end > len(p.src) {
		return corrupt.Errorf("jpeg2000: the tile-part at byte %d has %d bytes, and %d are left", start, length, len(p.src)-start)
	}
	t := p.tiles[index]
	if t == nil {
		copied := p.main
		copied.changes = nil // the changes of a tile replace the changes of the main header
		t = &tilePart{index: index, coding: &copied}
		p.tiles[index] = t
		p.order = append(p.order, index)
	}
	for {
		marker, segment, err := p.next()
		if err != nil {
			return err
		}
		if marker == markerSOD {
			break
		}
		if err := p.readCoding(t.coding, marker, segment); err != nil {
			return err
		}
	}
	if p.at > end {
		return corrupt.Errorf("jpeg2000: the tile-part at byte %d ends at byte %d, in its header", start, end)
	}
	if t.parts == 0 {
		t.packets = p.src[p.at:end:end]
	} else {
		t.packets = append(t.packets, p.src[p.at:end]...) // a copy: packets has no spare capacity
	}
	t.parts++
	p.at = end
	return nil
}

// readCoding reads a segment that says how the image or a tile is coded. Others are skipped.
func (p *parser) readCoding(c *coding, marker uint16, b []byte) error {
	switch marker {
	case markerCOD:
		if c == &p.main {
			p.hasCoding = true
		}
		return c.readCOD(b)
	case markerCOC:
		return c.readCOC(b)
	case markerQCD:
		return c.readQuantization(b)
	case markerQCC:
		if len(b) < 1 || b[0] != 0 {
			return corrupt.Errorf("jpeg2000: QCC of another component")
		}
		return c.readQuantization(b[1:])
	case markerRGN:
		if len(b) < rgnBytes || b[0] != 0 || b[1] != 0 {
			return corrupt.Errorf("jpeg2000: RGN of %d bytes", len(b))
		}
		c.roiShift = int(b[2])
	case markerPOC:
		return c.readPOC(b)
	case markerPPM, markerPPT:
		return unsupported("packed packet headers")
	case markerCAP:
		return unsupported("the high-throughput coder of T.814")
	}
	return nil
}

func (c *coding) readCOD(b []byte) error {
	if len(b) < codFixed {
		return corrupt.Errorf("jpeg2000: COD of %d bytes", len(b))
	}
	c.sop, c.eph = b[0]&2 != 0, b[0]&4 != 0
	c.progression, c.layers = b[1], int(binary.BigEndian.Uint16(b[2:]))
	if c.layers == 0 || c.progression > cprl {
		return corrupt.Errorf("jpeg2000: COD of %d layers in progression %d", c.layers, c.progression)
	}
	return c.readComponent(b[0]&1 != 0, b[5:])
}

func (c *coding) readCOC(b []byte) error {
	if len(b) < cocFixed+1 || b[0] != 0 {
		return corrupt.Errorf("jpeg2000: COC of %d bytes or of another component", len(b))
	}
	return c.readComponent(b[1]&1 != 0, b[2:])
}

// readComponent reads what COD and COC have in common.
func (c *coding) readComponent(hasPrecincts bool, b []byte) error {
	c.levels = int(b[0])
	c.blockWidth, c.blockHeight = uint(b[1]&15)+2, uint(b[2]&15)+2
	c.style, c.reversible = b[3], b[4] == 1
	switch {
	case c.levels > maxLevels:
		return corrupt.Errorf("jpeg2000: %d levels of the wavelet transform, at most %d are allowed", c.levels, maxLevels)
	case c.blockWidth > 10 || c.blockHeight > 10 || c.blockWidth+c.blockHeight > 12:
		return corrupt.Errorf("jpeg2000: code-blocks of 2^%d × 2^%d", c.blockWidth, c.blockHeight)
	case c.style&styleHighThroughput != 0:
		return unsupported("the high-throughput coder of T.814")
	case b[4] > 1:
		return unsupported("wavelet transform %d", b[4])
	}
	b = b[5:]
	if hasPrecincts && len(b) < c.levels+1 {
		return corrupt.Errorf("jpeg2000: precincts of %d resolutions are in %d bytes", c.levels+1, len(b))
	}
	for r := range c.levels + 1 {
		c.precincts[r] = [2]uint{15, 15}
		if hasPrecincts {
			c.precincts[r] = [2]uint{uint(b[r] & 15), uint(b[r] >> 4)}
			if r > 0 && (b[r]&15 == 0 || b[r]>>4 == 0) {
				return corrupt.Errorf("jpeg2000: precincts of resolution %d are 2^%d × 2^%d", r, b[r]&15, b[r]>>4)
			}
		}
	}
	return nil
}

// The ways to store quantization steps (table A.28).
const (
	stepsNone    = 0 // exponents only
	stepsDerived = 1 // computed from the step of the lowest subband
)

func (c *coding) readQuantization(b []byte) error {
	if len(b) < 1 {
		return corrupt.Errorf("jpeg2000: QCD of 0 bytes")
	}
	c.guardBits, c.hasSteps = int(b[0]>>5), true
	how := b[0] & 31
	b = b[1:]
	c.steps = [maxBands]step{}
	switch how {
	case stepsNone:
		for i, v := range b[:min(len(b), maxBands)] {
			c.steps[i] = step{int(v >> 3), 0}
		}
		return nil
	case stepsDerived:
		if len(b) < 2 {
			return corrupt.Errorf("jpeg2000: QCD ends at its step")
		}
		first := readStep(b)
		for i := range c.steps {
			c.steps[i] = step{max(0, first.exponent-max(0, i-1)/3), first.mantissa}
		}
		return nil
	default:
		for i := range min(len(b)/2, maxBands) {
			c.steps[i] = readStep(b[2*i:])
		}
		return nil
	}
}

func readStep(b []byte) step {
	v := int(binary.BigEndian.Uint16(b))
	return step{v >> 11, v & 0x7ff}
}

func (c *coding) readPOC(b []byte) error {
	if len(b)%pocBytes != 0 {
		return corrupt.Errorf("jpeg2000: POC of %d bytes", len(b))
	}
	for ; len(b) > 0; b = b[pocBytes:] {
		if b[6] > cprl {
			return corrupt.Errorf("jpeg2000: POC to progression %d", b[6])
		}
		c.changes = append(c.changes, change{int(b[0]), int(b[4]), int(binary.BigEndian.Uint16(b[2:])), b[6]})
	}
	return nil
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// ceilShift returns a / 2^n, rounded up.
func ceilShift(a int, n uint) int { return (a + 1<<n - 1) >> n }
