package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"varve/codec"
	"varve/manifest/plan"
	"varve/readers/grib"
)

// The words that flags accept, and what they mean. An empty word is the default of a flag that has none.
var (
	indexUses = map[string]grib.IndexUse{"": grib.IndexAuto, "auto": grib.IndexAuto, "ignore": grib.IndexIgnore, "require": grib.IndexRequire}
	nameWords = map[string]grib.NameScheme{"": grib.CFNames, "cf": grib.CFNames, "eccodes": grib.EcCodesNames, "wgrib2": grib.Wgrib2Names}
	gribTimes = map[string]grib.Times{"": grib.ReferenceTimes, "reference": grib.ReferenceTimes, "valid": grib.ValidTimes}
	missings  = map[string]plan.Absent{"fill": plan.AbsentFill, "drop": plan.AbsentDrop, "refuse": plan.AbsentRefuse}
	pads      = map[string]plan.Pad{"": plan.PadRefuse, "fill": plan.PadFill}
	coords    = map[string]plan.Coords{"": plan.CoordsEqual, "first": plan.CoordsFirst}
	codecs    = map[string]codec.Compressor{
		"": "", "keep": "", "zstd": codec.ZstdCompressor, "gzip": codec.GzipCompressor, "blosc": codec.BloscCompressor, "none": codec.NoCompressor,
	}
	overlaps = map[string]plan.Overlap{"": plan.OverlapRefuse, "first": plan.OverlapFirst, "last": plan.OverlapLast}
)

// wordsOfFlags returns the words that a flag accepts, by the name of the flag.
func wordsOfFlags() map[string][]string {
	return map[string][]string{
		"names":       words(nameWords),
		"grib-index":  words(indexUses),
		"grib-times":  words(gribTimes),
		"missing":     words(missings),
		"pad":         words(pads),
		"coords":      words(coords),
		"overlap":     words(overlaps),
		"codec":       words(codecs),
		"log-format":  {"text", "json"},
		"format":      {"3", "2"},
		"conventions": {"all", "multiscales", "proj", "spatial"},
	}
}

// words returns the words of a flag in alphabetic order.
func words[T any](meanings map[string]T) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(meanings)), func(w string) bool { return w == "" })
}

// choose sets the meaning of a word.
func choose[T any](to *T, flag, word string, meanings map[string]T) error {
	choice, ok := meanings[word]
	if !ok {
		return fmt.Errorf("--%s %s: want %s", flag, word, strings.Join(words(meanings), " or "))
	}
	*to = choice
	return nil
}
