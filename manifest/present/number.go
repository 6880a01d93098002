package present

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
)

// Number is the value of a statistic: a float, an exact integer or a time.
type Number struct {
	Float   float64
	Integer *big.Int // the exact value, if it is an integer
	Time    string   // the time that it represents, if it is one
}

// String formats the number for people.
func (n Number) String() string {
	switch {
	case n.Time != "":
		return n.Time
	case n.Integer != nil:
		return n.Integer.String()
	}
	return strconv.FormatFloat(n.Float, 'g', -1, 64)
}

// MarshalJSON encodes a number, a time as string, NaN as null, and infinities as strings, as in Zarr
// documents.
func (n Number) MarshalJSON() ([]byte, error) {
	switch {
	case n.Time != "":
		return json.Marshal(n.Time)
	case n.Integer != nil:
		return []byte(n.Integer.String()), nil
	case math.IsNaN(n.Float):
		return []byte("null"), nil
	case math.IsInf(n.Float, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(n.Float, -1):
		return []byte(`"-Infinity"`), nil
	}
	return json.Marshal(n.Float)
}
