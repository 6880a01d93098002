package grib_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"varve/codec/grib"
)

// TestDocumentedPackings checks that docs/reference/codecs.md lists exactly the templates that are decoded.
func TestDocumentedPackings(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/codecs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## The packings of GRIB\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var documented []int
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) > 4 {
			for _, m := range regexp.MustCompile(`5\.(\d+)`).FindAllStringSubmatch(cells[3], -1) {
				n, _ := strconv.Atoi(m[1])
				documented = append(documented, n)
			}
		}
	}
	slices.Sort(documented)
	var decoded []int
	section5 := make([]byte, 64)
	for template := range 1 << 16 {
		binary.BigEndian.PutUint16(section5[9:], uint16(template))
		_, err := (&grib.Field{Edition: 2, Section5: section5, Section7: make([]byte, 5)}).Describe()
		named := fmt.Sprint("5.", template) // in the error of a template that is not supported, before a colon or comma
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), named+":") && !strings.Contains(err.Error(), named+",") {
			decoded = append(decoded, template)
		}
	}
	if !slices.Equal(documented, decoded) {
		t.Errorf("docs/reference/codecs.md lists templates %v, and %v are decoded", documented, decoded)
	}
}
