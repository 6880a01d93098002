package wgrib2

import "testing"

// TestName holds some names that inventories of wgrib2 have.
func TestName(t *testing.T) {
	const ncep, ndfd, dwd = 7, 8, 78
	for want, p := range map[string]Parameter{
		"TMP":         {0, ncep, 0, 0},
		"UGRD":        {0, dwd, 2, 2}, // defined by the WMO, so that the centre does not matter
		"APCP":        {0, ncep, 1, 8},
		"PRMSL":       {0, ncep, 3, 1},
		"MSLET":       {0, ncep, 3, 192},
		"4LFTX":       {0, ncep, 7, 193},
		"REFC":        {0, ncep, 16, 196},
		"U-GWD":       {0, ncep, 3, 194},
		"HTSGW":       {10, ncep, 0, 3},
		"CRAIN":       {0, ncep, 1, 192},
		"WX":          {0, ndfd, 1, 192},
		"var0_1_192":  {0, dwd, 1, 192},
		"var209_10_0": {209, 161, 10, 0},
	} {
		if got := Name(p); got != want {
			t.Errorf("%v is %s, want %s", p, got, want)
		}
	}
	if n := len(names()); n < 1500 {
		t.Errorf("only %d names", n)
	}
}
