// Package wgrib2 names the parameters of GRIB edition 2 as the program wgrib2 does.
//
// The names are from NCEP's tables. fixtures/grib/wgrib2.py writes them to names.txt.
package wgrib2

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

//go:embed names.txt
var text string

// Parameter identifies a parameter of edition 2.
type Parameter struct{ Discipline, Centre, Category, Number int64 }

// isLocal reports whether the centre defines the parameter, and not the WMO.
func (p Parameter) isLocal() bool {
	local := func(n int64) bool { return n >= 192 && n <= 254 }
	return local(p.Discipline) || local(p.Category) || local(p.Number)
}

var names = sync.OnceValue(func() map[Parameter]string {
	out := map[Parameter]string{}
	for line := range strings.Lines(text) {
		var p Parameter
		var name string
		if _, err := fmt.Sscan(line, &p.Discipline, &p.Centre, &p.Category, &p.Number, &name); err != nil {
			panic("wgrib2: names.txt: " + err.Error()) // the file is embedded, so only a broken build gets here
		}
		out[p] = name
	}
	return out
})

// Name returns the name of a parameter. An unknown one is named by its discipline, category and number, as wgrib2 does in netCDF files:
// var0_3_192.
func Name(p Parameter) string {
	known := p
	if !p.isLocal() {
		known.Centre = 0
	}
	if name, ok := names()[known]; ok {
		return name
	}
	return fmt.Sprintf("var%d_%d_%d", p.Discipline, p.Category, p.Number)
}
