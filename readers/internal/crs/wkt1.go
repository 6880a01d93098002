package crs

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Limits of well-known texts. ESRI's have about a kilobyte and 4 levels.
const (
	longestWKT = 16 << 10
	deepestWKT = 16
)

// ErrWKT is returned for texts that are not WKT 1 or describe a system that is not known.
var ErrWKT = errors.New("unknown well-known text")

// node is an element of a well-known text, KEYWORD["text",1.5,CHILD[…]].
type node struct {
	keyword  string // in upper case
	values   []string
	children []*node
}

// parser reads a well-known text.
type parser struct {
	text string
	at   int
}

func (p *parser) fail(want string) error {
	return fmt.Errorf("%w: want %s at byte %d", ErrWKT, want, p.at)
}

func (p *parser) skip() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// accept reports whether the next byte is one of these, and skips it.
func (p *parser) accept(bytes string) bool {
	p.skip()
	ok := p.at < len(p.text) && strings.IndexByte(bytes, p.text[p.at]) >= 0
	if ok {
		p.at++
	}
	return ok
}

// word returns the next bytes up to a delimiter.
func (p *parser) word() string {
	p.skip()
	n := strings.IndexAny(p.text[p.at:], `,[]()"`)
	if n < 0 {
		n = len(p.text) - p.at
	}
	p.at += n
	return strings.TrimSpace(p.text[p.at-n : p.at])
}

// quoted returns the rest of a text in quotation marks, in which a doubled mark is one mark.
func (p *parser) quoted() (string, error) {
	var b strings.Builder
	for {
		n := strings.IndexByte(p.text[p.at:], '"')
		if n < 0 {
			return "", p.fail("the end of a text")
		}
		b.WriteString(p.text[p.at : p.at+n])
		if p.at += n + 1; p.at == len(p.text) || p.text[p.at] != '"' {
			return b.String(), nil
		}
		b.WriteByte('"')
		p.at++
	}
}

// element reads an element whose keyword has been read.
func (p *parser) element(keyword string, depth int) (*node, error) {
	if depth == deepestWKT {
		return nil, p.fail(fmt.Sprint("at most ", deepestWKT, " levels"))
	}
	n := &node{keyword: strings.ToUpper(keyword)}
	for {
		if p.accept(`"`) {
			text, err := p.quoted()
			if err != nil {
				return nil, err
			}
			n.values = append(n.values, text)
		} else if word := p.word(); p.accept("[(") {
			child, err := p.element(word, depth+1)
			if err != nil {
				return nil, err
			}
			n.children = append(n.children, child)
		} else {
			n.values = append(n.values, word)
		}
		switch {
		case p.accept("])"):
			return n, nil
		case !p.accept(","):
			return nil, p.fail("a comma or a bracket")
		}
	}
}

func (n *node) child(keyword string) *node {
	if n != nil {
		for _, c := range n.children {
			if c.keyword == keyword {
				return c
			}
		}
	}
	return nil
}

func (n *node) text(i int) string {
	if n == nil || i >= len(n.values) {
		return ""
	}
	return n.values[i]
}

func (n *node) number(i int) (float64, bool) {
	f, err := strconv.ParseFloat(n.text(i), 64)
	return f, err == nil && math.Abs(f) < Largest
}

// code returns the code of the EPSG dataset that an element has, or 0.
func (n *node) code() int {
	a := n.child("AUTHORITY")
	if a == nil {
		a = n.child("ID") // in WKT 2
	}
	code, err := strconv.Atoi(a.text(1))
	if err != nil || !strings.EqualFold(a.text(0), "EPSG") {
		return 0
	}
	return code
}

// ParseWKT1 returns the system that a well-known text of ESRI or of GDAL describes. Of WKT 2 it reads only texts with a code of the
// EPSG dataset.
func ParseWKT1(text string) (*System, error) {
	if len(text) > longestWKT {
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrWKT, longestWKT)
	}
	p := &parser{text: text}
	keyword := p.word()
	if !p.accept("[(") {
		return nil, p.fail("a bracket")
	}
	root, err := p.element(keyword, 0)
	if err != nil {
		return nil, err
	}
	return root.system()
}

func (n *node) system() (*System, error) {
	if s := EPSG(n.code()); s != nil {
		return s, nil
	}
	switch n.keyword {
	case "PROJCS":
		return n.projected()
	case "GEOGCS":
		return n.geographic()
	case "COMPD_CS":
		var parts []*System
		for _, c := range n.children {
			if c.keyword == "AUTHORITY" {
				continue
			}
			s, err := c.system()
			if err != nil {
				return nil, err
			}
			parts = append(parts, s)
		}
		if len(parts) != 2 || parts[1].Kind != Vertical {
			return nil, fmt.Errorf("%w: a compound system has a horizontal and a vertical part", ErrWKT)
		}
		return Combine(parts[0], parts[1], n.text(0)), nil
	case "VERT_CS", "VERTCS":
		unit := n.unit(Length, Metre)
		s := VerticalOf(n.text(0), n.child("VERT_DATUM").code(), unit)
		if d := n.child("VDATUM"); d != nil {
			s.Datum.Name = d.text(0)
		} else if d := n.child("VERT_DATUM"); d != nil {
			s.Datum.Name = d.text(0)
		}
		return s, nil
	case "LOCAL_CS":
		return &System{Kind: Engineering, Name: n.text(0), Axes: EastNorth(nil, n.unit(Length, Metre))}, nil
	}
	return nil, fmt.Errorf("%w: %.40q is not PROJCS or GEOGCS", ErrWKT, n.keyword)
}

// unit returns the unit of a system.
func (n *node) unit(kind UnitKind, absent Unit) Unit {
	u := n.child("UNIT")
	if size, ok := u.number(1); ok && IsUnit(size) {
		return Unit{u.text(0), kind, size}
	}
	return absent
}

func (n *node) geographic() (*System, error) {
	of := n.child("DATUM")
	if of == nil {
		return nil, fmt.Errorf("%w: GEOGCS has no DATUM", ErrWKT)
	}
	unit := n.unit(Angle, Degree)
	name := strings.TrimPrefix(n.text(0), "GCS_")
	s := &System{Kind: Geographic, Name: name, Datum: of.datum(), Axes: LongitudeLatitude(unit)}
	if m := n.child("PRIMEM"); m != nil {
		longitude, _ := m.number(1)
		if longitude != s.Datum.Longitude || m.text(0) != s.Datum.Meridian.Name {
			s.Datum.Meridian = Meridian{Name: m.text(0), Longitude: longitude, Unit: unit}
		}
	}
	if shift := of.child("TOWGS84"); shift != nil && s.Datum.Code == 0 {
		for i := range shift.values[:min(len(shift.values), 7)] {
			f, _ := shift.number(i)
			s.ToWGS84 = append(s.ToWGS84, f)
		}
		if len(s.ToWGS84) != 3 && len(s.ToWGS84) != 7 {
			s.ToWGS84 = nil
		}
	}
	// Well-known systems of ESRI have other names in the EPSG dataset.
	if s.Datum.Code != 0 && s.Datum.Meridian == Greenwich() && unit.isDegree() {
		if known := geodetic(codeOf("geodetic", n.text(0))); known != nil && known.Datum.Code == s.Datum.Code && len(known.Axes) == 2 {
			return known, nil
		}
	}
	return s, nil
}

func (u Unit) isDegree() bool {
	return u.Kind == Angle && u.Factor > 0.01745329251 && u.Factor < 0.01745329252
}

// datum returns the datum of an element DATUM. Datums that the EPSG dataset has by their code or their name keep its name, if
// the ellipsoid is that one.
func (n *node) datum() *Datum {
	sphere := n.child("SPHEROID")
	e := Ellipsoid{Name: sphere.text(0)}
	e.Major, _ = sphere.number(1)
	e.Inverse, _ = sphere.number(2)
	if !(e.Major > 0) || e.Inverse < 0 || e.Inverse > 0 && e.Inverse <= 1 {
		e = Ellipsoid{"WGS 84", 7030, 6378137, 298.257223563}
	}
	known := DatumOf(n.code())
	if known == nil {
		known = DatumNamed(n.text(0))
	}
	if known != nil && known.Ellipsoid.IsNear(e) {
		return known
	}
	if like := EllipsoidNamed(e.Name); like != nil && like.IsNear(e) {
		e.Name, e.Code = like.Name, like.Code
	}
	name := n.text(0)
	if known != nil {
		name = known.Name
	} else if strings.HasPrefix(name, "D_") {
		name = strings.ReplaceAll(name[2:], "_", " ")
	}
	return &Datum{Name: name, Ellipsoid: e, Meridian: Greenwich()}
}

// IsNear reports whether the axes differ by less than a millimetre.
func (e Ellipsoid) IsNear(o Ellipsoid) bool {
	near := func(a, b float64) bool { return a-b < 1e-3 && b-a < 1e-3 }
	return near(e.Major, o.Major) && near(e.Minor(), o.Minor())
}

// parameterNames are the names of parameters in WKT 1 by their codes, the usual first.
var parameterNames = map[int]string{
	0:    "satellite_height height",
	8801: "latitude_of_origin latitude_of_center central_parallel standard_parallel_1",
	8802: "central_meridian longitude_of_center longitude_of_origin",
	8805: "scale_factor",
	8806: "false_easting", 8807: "false_northing",
	8811: "latitude_of_center latitude_of_origin", 8812: "longitude_of_center longitude_of_origin central_meridian",
	8813: "azimuth", 8814: "rectified_grid_angle xy_plane_rotation", 8815: "scale_factor",
	8816: "false_easting", 8817: "false_northing",
	8821: "latitude_of_origin latitude_of_center central_parallel", 8822: "central_meridian longitude_of_center longitude_of_origin",
	8823: "standard_parallel_1", 8824: "standard_parallel_2",
	8826: "false_easting", 8827: "false_northing",
	8832: "standard_parallel_1 latitude_of_origin", 8833: "central_meridian longitude_of_center straight_vertical_longitude_from_pole longitude_of_origin",
	8834: "latitude_of_center", 8835: "longitude_of_center", 8840: "height",
	8818: "pseudo_standard_parallel_1", 8819: "scale_factor", 1036: "azimuth",
}

// key returns the form of a name in which names of parameters are compared.
func key(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "_") }

func (n *node) projected() (*System, error) {
	base := n.child("GEOGCS")
	if base == nil {
		return nil, fmt.Errorf("%w: PROJCS has no GEOGCS", ErrWKT)
	}
	g, err := base.system()
	if err != nil {
		return nil, err
	}
	if g.Kind != Geographic {
		return nil, fmt.Errorf("%w: GEOGCS is not a geographic system", ErrWKT)
	}
	values := map[string]float64{}
	for _, c := range n.children {
		if f, ok := c.number(1); ok && c.keyword == "PARAMETER" {
			values[key(c.text(0))] = f
		}
	}
	unit := n.unit(Length, Metre)
	name := n.child("PROJECTION").text(0)
	c := projectionNamed(name, func(code int) (float64, bool) {
		for name := range strings.FieldsSeq(parameterNames[code]) {
			if f, ok := values[name]; ok {
				return f, true
			}
		}
		f, ok := values[key(parameterOf(code).Name)]
		return f, ok
	}, base.unit(Angle, Degree), unit)
	if c == nil {
		return nil, fmt.Errorf("%w: projection %.60q is not known", ErrWKT, name)
	}
	s := &System{Kind: Projected, Name: n.text(0), Base: g, ToWGS84: g.ToWGS84}
	switch proj := n.child("EXTENSION").text(1); {
	case c.Method.Name == sweepY && strings.Contains(proj, "+sweep=x"):
		c.Method.Name = sweepX
		s.Remark = "PROJ CRS string: " + proj // PROJ takes systems with other remarks of this kind for different ones
	case c.Method.Name == sweepY && values["option"] == 1:
		c.Method.Name = sweepX
	case c.Method.Name == "Goode Homolosine" && values["option"] == 1:
		c.Method.Name = "Interrupted Goode Homolosine"
	case c.Method.Code == krovak && values["xy_plane_rotation"] == 90:
		c = c.by(methodOf(krovakNorth))
	}
	if g.Datum.Inverse == 0 {
		c = c.OnSphere()
	}
	s.Conversion, s.Axes = c, EastNorth(c, unit)
	return s, nil
}
