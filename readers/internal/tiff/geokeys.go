package tiff

import (
	"bytes"
	"context"
	"math"
	"strings"

	"varve/readers"
	"varve/readers/internal/crs"
)

// The numbers of GeoKeys that the reader uses. OGC GeoTIFF 1.1 lists all.
const (
	modelTypeKey         = 1024
	rasterTypeKey        = 1025
	citationKey          = 1026
	geodeticKey          = 2048
	geodeticCitationKey  = 2049
	datumKey             = 2050
	meridianKey          = 2051
	angularUnitKey       = 2054
	angularUnitSizeKey   = 2055
	ellipsoidKey         = 2056
	semiMajorKey         = 2057
	semiMinorKey         = 2058
	inverseFlatteningKey = 2059
	meridianLongitudeKey = 2061
	toWGS84Key           = 2062
	projectedKey         = 3072
	projectedCitationKey = 3073
	projectionKey        = 3074
	methodKey            = 3075
	linearUnitKey        = 3076
	linearUnitSizeKey    = 3077
	verticalKey          = 4096
	verticalCitationKey  = 4097
	verticalDatumKey     = 4098
	verticalUnitKey      = 4099
)

// Values of GeoKeys.
const (
	userDefined     = 32767
	projectedModel  = 1
	geographicModel = 2
	pixelIsPoint    = 2
)

// maxKeys is the number of GeoKeys that is read. GeoTIFF defines about 60.
const maxKeys = 1 << 10

// geoKeys are the GeoKeys of a directory. A value is a uint16, a float64, a []float64 or a string.
type geoKeys struct {
	values map[uint16]any
	minor  uint64 // revision of the version of GeoTIFF: 0 or 1
}

// geoKeys reads the GeoKeys, or returns nil if there are none. Keys with damaged values are left out, as other programs do.
func (d *directory) geoKeys(ctx context.Context) (*geoKeys, error) {
	list, err := d.numbers(ctx, geoKeyDirectory)
	if err != nil || list == nil {
		return nil, err
	}
	if len(list) < 4 {
		return nil, d.fail(geoKeyDirectory, readers.Corruptf("it has %d numbers, want 4 or more", len(list)))
	}
	doubles, err := d.floats(ctx, geoDoubleParams)
	if err != nil {
		return nil, err
	}
	text, err := d.bytes(ctx, geoASCIIParams)
	if err != nil {
		return nil, err
	}
	return parseGeoKeys(list, doubles, text), nil
}

// parseGeoKeys decodes the directory of GeoKeys: 4 numbers of a header, then 4 of each key.
func parseGeoKeys(list []uint64, doubles []float64, text []byte) *geoKeys {
	k := &geoKeys{values: map[uint16]any{}, minor: list[2]}
	if list[0] == 1 && list[1] > 1 {
		k.minor = 1
	}
	n := min(list[3], uint64(len(list)-4)/4, maxKeys)
	for i := uint64(1); i <= n; i++ {
		key, tag, count, at := uint16(list[4*i]), list[4*i+1], list[4*i+2], list[4*i+3]
		switch tag {
		case 0:
			k.values[key] = uint16(at)
		case uint64(geoDoubleParams):
			switch size := uint64(len(doubles)); {
			case count == 0 || at > size || count > size-at:
			case count == 1:
				k.values[key] = doubles[at]
			default:
				k.values[key] = doubles[at : at+count]
			}
		case uint64(geoASCIIParams):
			size := uint64(len(text))
			at = min(at, size)
			s, _, _ := bytes.Cut(text[at:at+min(count, size-at)], []byte{0})
			k.values[key] = strings.TrimRight(strings.ToValidUTF8(string(s), "\uFFFD"), "|")
		}
	}
	return k
}

// code returns a key that is a code, or 0. User-defined is no code.
func (k *geoKeys) code(key uint16) int {
	if v, ok := k.values[key].(uint16); ok && v != userDefined {
		return int(v)
	}
	return 0
}

// has reports whether there is a key that is a number without a fraction.
func (k *geoKeys) has(keys ...uint16) bool {
	for _, key := range keys {
		if _, ok := k.values[key].(uint16); ok {
			return true
		}
	}
	return false
}

// number returns the first of keys that is a number a system can have.
func (k *geoKeys) number(keys ...uint16) (float64, bool) {
	for _, key := range keys {
		var f float64
		switch v := k.values[key].(type) {
		case float64:
			f = v
		case []float64:
			f = v[0]
		default:
			continue
		}
		if math.Abs(f) < crs.Largest {
			return f, true
		}
	}
	return 0, false
}

func (k *geoKeys) text(key uint16) string {
	s, _ := k.values[key].(string)
	return s
}
