package codec

import "testing"

func TestTypeString(t *testing.T) {
	for want, typ := range map[string]Type{
		"bool": {Kind: Bool, Size: 1}, "int16": {Kind: Int, Size: 2}, "uint64": {Kind: Uint, Size: 8}, "float16": {Kind: Float, Size: 2},
		"complex128": {Kind: Complex, Size: 16}, "V5": {Kind: Raw, Size: 5}, "S3": {Kind: FixedBytes, Size: 3}, "U2": {Kind: FixedUTF32, Size: 8},
		"datetime64[ns]":    {Kind: DateTime, Size: 8, Unit: "ns", Ticks: 1},
		"timedelta64[10ms]": {Kind: TimeDelta, Size: 8, Unit: "ms", Ticks: 10},
		"timedelta64":       {Kind: TimeDelta, Size: 8, Unit: "generic", Ticks: 1},
		"string":            {Kind: String}, "variable-length bytes": {Kind: Bytes},
	} {
		if got := typ.String(); got != want {
			t.Errorf("%+v is called %s, want %s", typ, got, want)
		}
	}
}
