package present

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
)

// Number is one number of statistics.
type Number struct {
	Float   float64
	Integer *big.Int // the same, exactly, where it is an integer
	Time    string   // what it stands for, where it is a time
}

// String writes the number for people.
func (n Number) String() string {
	switch {
	case n.Time != "":
		return n.Time
	case n.Integer != nil:
		return n.Integer.String()
	}
	return strconv.FormatFloat(n.Float, 'g', -1, 64)
}

// MarshalJSON writes a number, a time as text, null for what is no number, and what is
// infinite as Zarr's documents do, as text.
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
