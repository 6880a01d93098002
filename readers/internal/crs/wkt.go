package crs

import (
	"fmt"
	"strconv"
	"strings"
)

// WKT returns the system as WKT 2 of 2019.
func (s *System) WKT() string {
	var b strings.Builder
	if s.ToWGS84 == nil {
		s.write(&b)
		return b.String()
	}
	b.WriteString("BOUNDCRS[SOURCECRS[")
	s.write(&b)
	b.WriteString("],TARGETCRS[")
	EPSG(4326).write(&b)
	b.WriteString(`],ABRIDGEDTRANSFORMATION["Transformation to WGS84",METHOD[`)
	if len(s.ToWGS84) == 3 {
		b.WriteString(`"Geocentric translations (geog2D domain)",ID["EPSG",9603]]`)
	} else {
		b.WriteString(`"Position Vector transformation (geog2D domain)",ID["EPSG",9606]]`)
	}
	names := []string{"X-axis translation", "Y-axis translation", "Z-axis translation", "X-axis rotation", "Y-axis rotation", "Z-axis rotation", "Scale difference"}
	for i, f := range s.ToWGS84 {
		if i == 6 {
			f = 1 + float64(f*1e-6)
		}
		fmt.Fprintf(&b, ",PARAMETER[%s,%s%s]", quote(names[i]), decimal(f), identifier(8605+i))
	}
	b.WriteString("]]")
	return b.String()
}

func (s *System) write(b *strings.Builder) {
	keyword := map[Kind]string{Geographic: "GEOGCRS", Geocentric: "GEODCRS", Projected: "PROJCRS", Vertical: "VERTCRS", Compound: "COMPOUNDCRS", Engineering: "ENGCRS"}[s.Kind]
	fmt.Fprintf(b, "%s[%s", keyword, quote(s.Name))
	shape := "Cartesian"
	switch s.Kind {
	case Geographic, Geocentric:
		s.Datum.write(b)
		if s.Kind == Geographic {
			shape = "ellipsoidal"
		}
	case Vertical:
		if s.Datum.Epoch != 0 {
			fmt.Fprintf(b, ",DYNAMIC[FRAMEEPOCH[%s]]", decimal(s.Datum.Epoch))
		}
		fmt.Fprintf(b, ",VDATUM[%s]", quote(s.Datum.Name))
		shape = "vertical"
	case Projected:
		fmt.Fprintf(b, ",BASEGEOGCRS[%s", quote(s.Base.Name))
		s.Base.Datum.write(b)
		b.WriteString(identifier(s.Base.Code) + "]")
		s.Conversion.write(b)
	case Engineering:
		b.WriteString(`,EDATUM["Unknown engineering datum"]`)
	case Compound:
		for _, p := range s.Parts {
			b.WriteByte(',')
			p.write(b)
		}
	}
	if len(s.Axes) > 0 {
		fmt.Fprintf(b, ",CS[%s,%d]", shape, len(s.Axes))
	}
	for i, a := range s.Axes {
		fmt.Fprintf(b, ",AXIS[%s,%s", quote(a.Name), a.Direction)
		if a.Meridian != nil {
			fmt.Fprintf(b, ",MERIDIAN[%s,%s]", decimal(*a.Meridian), Degree.text())
		}
		if len(s.Axes) > 1 {
			fmt.Fprintf(b, ",ORDER[%d]", i+1)
		}
		b.WriteString("," + a.Unit.text() + "]")
	}
	b.WriteString(identifier(s.Code))
	if s.Remark != "" {
		fmt.Fprintf(b, ",REMARK[%s]", quote(s.Remark))
	}
	b.WriteByte(']')
}

// write writes the datum of a geographic system and its prime meridian.
func (d *Datum) write(b *strings.Builder) {
	if d.Epoch != 0 {
		fmt.Fprintf(b, ",DYNAMIC[FRAMEEPOCH[%s]]", decimal(d.Epoch))
	}
	fmt.Fprintf(b, `,DATUM[%s,ELLIPSOID[%s,%s,%s,%s]],PRIMEM[%s,%s,%s]`, quote(d.Name), quote(d.Ellipsoid.Name), decimal(d.Major), decimal(d.Inverse), Metre.text(),
		quote(d.Meridian.Name), decimal(d.Longitude), d.Meridian.Unit.text())
}

func (c *Conversion) write(b *strings.Builder) {
	fmt.Fprintf(b, ",CONVERSION[%s,METHOD[%s%s]", quote(c.Name), quote(c.Method.Name), identifier(c.Method.Code))
	for _, p := range c.Parameters {
		fmt.Fprintf(b, ",PARAMETER[%s,%s,%s%s]", quote(p.Name), decimal(p.Value), p.Unit.text(), identifier(p.Code))
	}
	b.WriteByte(']')
}

func (u Unit) text() string {
	keyword := map[UnitKind]string{Angle: "ANGLEUNIT", Length: "LENGTHUNIT", Scale: "SCALEUNIT"}[u.Kind]
	return fmt.Sprintf("%s[%s,%s]", keyword, quote(u.Name), decimal(u.Factor))
}

func identifier(code int) string {
	if code == 0 {
		return ""
	}
	return fmt.Sprintf(`,ID["EPSG",%d]`, code)
}

// quote returns a text in quotation marks, as WKT has it. Line breaks become spaces.
func quote(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
